package views

import (
	"fmt"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/nicksnyder/go-i18n/v2/i18n/template"
)

// phrase is a text of the catalogue, cut at its holes: a list of nodes says a thousand of them, and going through a template
// engine for each costs more than everything else on the page.
type phrase []piece

// piece is a literal, and the name of the hole after it; empty: the text ends here.
type piece struct{ text, hole string }

// phraseKey tells the forms of a text apart. Which form a whole number takes depends in no language of ours on more than
// whether it is one.
type phraseKey struct {
	lang, key    string
	counted, one bool
}

var phrases sync.Map // phraseKey → phrase; as many as the catalogue has, for unknown keys are not kept

// phraseOf finds the text of key. count is nil, or what selects the plural form.
func phraseOf(lang, key string, count any) (phrase, bool) {
	k := phraseKey{lang: lang, key: key}
	known := true
	switch n := count.(type) {
	case nil:
	case int:
		k.counted, k.one = true, n == 1
	case int64:
		k.counted, k.one = true, n == 1
	default:
		known = false
	}
	if known {
		if p, ok := phrases.Load(k); ok {
			return p.(phrase), true
		}
	}
	var found phrase
	all := localizers()
	loc, ok := all[lang]
	if !ok {
		loc = all[Langs[0]]
	}
	// The localizer chooses language and form, and the parser hands out what it chose.
	_, _ = loc.Localize(&i18n.LocalizeConfig{MessageID: key, PluralCount: count, TemplateData: &found, TemplateParser: phraseParser{}})
	if found == nil {
		return nil, false
	}
	if known && ok {
		phrases.Store(k, found)
	}
	return found, true
}

// fill writes the phrase; args are pairs of a name and a value.
func (p phrase) fill(args []any) string {
	if len(p) == 1 && p[0].hole == "" {
		return p[0].text
	}
	var b strings.Builder
	for _, part := range p {
		b.WriteString(part.text)
		if part.hole != "" {
			write(&b, part.hole, args)
		}
	}
	return b.String()
}

// write writes the value of a hole; one that nobody fills shows, which tests see.
func write(b *strings.Builder, hole string, args []any) {
	for i := 0; i+1 < len(args); i += 2 {
		if name, ok := args[i].(string); !ok || name != hole {
			continue
		}
		if s, ok := args[i+1].(string); ok {
			b.WriteString(s)
		} else {
			fmt.Fprint(b, args[i+1])
		}
		return
	}
	b.WriteString("<no value>")
}

// phraseParser cuts texts at {{.name}}. The catalogue uses nothing else of the template language; a test holds that.
type phraseParser struct{}

// Cacheable lets the bundle keep what was parsed.
func (phraseParser) Cacheable() bool { return true }

// Parse never fails: what is no hole is text.
func (phraseParser) Parse(src, _, _ string) (template.ParsedTemplate, error) {
	var p phrase
	for {
		before, rest, open := strings.Cut(src, "{{.")
		hole, after, closed := strings.Cut(rest, "}}")
		if !open || !closed {
			return append(p, piece{text: src}), nil
		}
		p = append(p, piece{before, hole})
		src = after
	}
}

// Execute hands the phrase to whoever looked for it.
func (p phrase) Execute(data any) (string, error) {
	if to, ok := data.(*phrase); ok {
		*to = p
	}
	return "", nil
}
