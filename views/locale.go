package views

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/language"
)

// Texts of the console: one file an area and language, locale/AREA.en.toml and locale/AREA.zh.toml.
//
//go:embed locale/*.toml
var localeFiles embed.FS

// Langs are the languages of the console, the first is the fallback.
var Langs = []string{"en", "zh"}

var localizers = sync.OnceValue(func() map[string]*i18n.Localizer {
	bundle := i18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("toml", toml.Unmarshal)
	files, err := fs.Glob(localeFiles, "locale/*.toml")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		if _, err := bundle.LoadMessageFileFS(localeFiles, f); err != nil {
			panic(fmt.Sprintf("views: %s: %v", f, err)) // embedded: a test loads them all
		}
	}
	out := make(map[string]*i18n.Localizer, len(Langs))
	for _, l := range Langs {
		out[l] = i18n.NewLocalizer(bundle, l)
	}
	return out
})

// T returns the text of key in the language of ctx. args are pairs of a name and a value that fill {{.name}}; the value
// named "count" also selects the plural form. A key without text returns the key itself, which a test refuses.
func T(ctx context.Context, key string, args ...any) string {
	return Text(FrameOf(ctx).Lang, key, args...)
}

// Text is T for a given language.
func Text(lang, key string, args ...any) string {
	all := localizers()
	loc, ok := all[lang]
	if !ok {
		loc = all[Langs[0]]
	}
	cfg := &i18n.LocalizeConfig{MessageID: key}
	if len(args) > 0 {
		data := make(map[string]any, len(args)/2)
		for i := 0; i+1 < len(args); i += 2 {
			name := fmt.Sprint(args[i])
			data[name] = args[i+1]
			if name == "count" {
				cfg.PluralCount = args[i+1]
			}
		}
		cfg.TemplateData = data
	}
	text, err := loc.Localize(cfg)
	if text == "" && err != nil {
		return key
	}
	return text
}

// Translate returns the text of an English format, as errors carry it, in lang: the catalogue entry whose key is "error."
// plus the format, filled with args. Without one it stays English.
func Translate(lang, format string, args ...any) string {
	if lang != "en" {
		if t := Text(lang, errorKey(format)); t != errorKey(format) {
			format = t
		}
	}
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// errorKey makes the key of an error's format: TOML keys may be quoted, so the format itself serves.
func errorKey(format string) string { return "error: " + format }

// MatchLang returns the console's language for an Accept-Language header: Chinese of any script and region is zh, a
// quality of zero is never chosen, everything else is English (S100).
func MatchLang(header string) string {
	if len(header) > 1024 {
		header = header[:1024]
	}
	tags, weights, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return Langs[0]
	}
	for i, t := range tags {
		if weights[i] == 0 {
			continue
		}
		base, _ := t.Base()
		switch strings.ToLower(base.String()) {
		case "zh":
			return "zh"
		case "en":
			return "en"
		}
	}
	return Langs[0]
}
