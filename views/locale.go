package views

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
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

var localizers = sync.OnceValue(readLocales)

func readLocales() map[string]*i18n.Localizer {
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
}

// T returns the text of key in the language of ctx. args are pairs of a name and a value that fill {{.name}}; the value
// named "count" also selects the plural form. A key without text returns the key itself, which a test refuses.
func T(ctx context.Context, key string, args ...any) string {
	return Text(FrameOf(ctx).Lang, key, args...)
}

// Text is T for a given language.
func Text(lang, key string, args ...any) string {
	var count any
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "count" {
			count = args[i+1]
		}
	}
	p, ok := phraseOf(lang, key, count)
	if !ok {
		return key
	}
	return p.fill(args)
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
	return fmt.Sprintf(format, ownWords(lang, args)...)
}

// ownWords translates the arguments that are texts of ours.
func ownWords(lang string, args []any) []any {
	out := args
	for i, a := range args {
		if p, ours := a.(interface{ Phrase() string }); ours {
			if &out[0] == &args[0] {
				out = slices.Clone(args)
			}
			out[i] = Translate(lang, p.Phrase())
		}
	}
	return out
}

// errorKey makes the key of an error's format: TOML keys may be quoted, so the format itself serves.
func errorKey(format string) string { return "error: " + format }

// MatchLang returns the console's language for an Accept-Language header (S100):
//
//	zh, zh-CN, zh-Hans-…, zh-Hant-…, zh-TW, zh-HK, cmn, yue   zh: there is one Chinese, in simplified characters
//	en, en-…                                                   en
//	*                                                          the first of Langs that the header does not refuse
//	q=0                                                        refuses a language that stands without a region, and counts for nothing else
//	anything else, nothing, junk                               en, zh only where English is refused and Chinese is not
//
// The highest quality wins, of equal ones the first. What is no language range is passed over; of a long header the first
// 4 KB count. The choice of a viewer is a cookie and goes before all this. A text that one language lacks is shown in English.
func MatchLang(header string) string {
	const most = 4 << 10
	best, quality, any := "", 0.0, 0.0
	refused := map[string]bool{}
	for part := range strings.SplitSeq(header[:min(len(header), most)], ",") {
		name, params, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		q, ok := qualityOf(params)
		if !ok {
			continue
		}
		primary, region, _ := strings.Cut(strings.TrimSpace(name), "-")
		lang := map[string]string{"zh": "zh", "cmn": "zh", "yue": "zh", "en": "en"}[primary]
		switch {
		case primary == "*":
			any = max(any, q)
		case lang != "" && q == 0 && region == "":
			refused[lang] = true
		case lang != "" && q > quality:
			best, quality = lang, q
		}
	}
	for _, l := range Langs {
		if !refused[l] && l != best && any > quality || best == "" && !refused[l] {
			return l
		}
	}
	if best == "" {
		return Langs[0]
	}
	return best
}

// qualityOf reads "q=0.5"; nothing is 1.
func qualityOf(params string) (float64, bool) {
	value, given := strings.CutPrefix(strings.TrimSpace(params), "q=")
	if !given {
		return 1, strings.TrimSpace(params) == ""
	}
	q, err := strconv.ParseFloat(value, 64)
	return q, err == nil && q >= 0 && q <= 1
}
