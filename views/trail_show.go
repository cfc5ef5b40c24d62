package views

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// ActionWord says what an entry of the operation log did. Entries of nodes' pages are "INSERT | node.Erupt", as erupt
// writes them; what is not known is shown as it is.
func ActionWord(ctx context.Context, action string) string {
	code, rest, ok := strings.Cut(action, " | ")
	key := "audit.do." + code
	word := T(ctx, key)
	if word == key {
		return action
	}
	if ok {
		word += " | " + rest
	}
	return word
}

// actionCodes are the actions that the console has words for.
var actionCodes = sync.OnceValue(func() []string {
	files, err := fs.Glob(localeFiles, "locale/*."+Langs[0]+".toml")
	if err != nil {
		panic(err)
	}
	var out []string
	for _, f := range files {
		var doc map[string]any
		raw, err := localeFiles.ReadFile(f)
		if err == nil {
			err = toml.Unmarshal(raw, &doc)
		}
		if err != nil {
			panic(err) // embedded: a test loads them all
		}
		for key := range doc {
			if code, ok := strings.CutPrefix(key, "audit.do."); ok {
				out = append(out, code)
			}
		}
	}
	slices.Sort(out)
	return out
})

// AuditActions are the actions to filter for, by their words in the viewer's language.
func AuditActions(ctx context.Context) []AuditAction {
	var out []AuditAction
	for _, code := range actionCodes() {
		out = append(out, AuditAction{Code: code, Word: T(ctx, "audit.do."+code)})
	}
	slices.SortFunc(out, func(a, b AuditAction) int { return cmp.Or(cmp.Compare(a.Word, b.Word), cmp.Compare(a.Code, b.Code)) })
	return out
}

// ActionsLike returns the actions whose words, in any language, contain text in any case. An empty text means none.
func ActionsLike(text string) []string {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return nil
	}
	var out []string
	for _, code := range actionCodes() {
		for _, lang := range Langs {
			if strings.Contains(strings.ToLower(Text(lang, "audit.do."+code)), text) {
				out = append(out, code)
				break
			}
		}
	}
	return out
}
