package views

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/pelletier/go-toml/v2"
)

// TestTextsAreThoseOfTheCatalogue: the short way says the same as the catalogue's own engine, for every text and every form.
func TestTextsAreThoseOfTheCatalogue(t *testing.T) {
	args, own := []any{"more", int64(7), "share", 0.5, "yes", true}, readLocales()
	files, err := localeFiles.ReadDir("locale")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, f := range files {
		raw, err := localeFiles.ReadFile("locale/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := toml.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		for key := range doc {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		for _, lang := range Langs {
			for _, count := range []any{nil, 0, 1, 2, 11, int64(1), int64(21), "1", 1.5} {
				data := map[string]any{}
				given := slices.Clone(args)
				p, _ := phraseOf(lang, key, count)
				for _, part := range p {
					if part.hole != "" && part.hole != "count" && !slices.Contains(args, any(part.hole)) {
						given = append(given, part.hole, "<"+part.hole+">")
					}
				}
				if count != nil {
					given = append(given, "count", count)
				}
				for i := 0; i < len(given); i += 2 {
					data[given[i].(string)] = given[i+1]
				}
				want, err := own[lang].Localize(&i18n.LocalizeConfig{MessageID: key, PluralCount: count, TemplateData: data})
				if want == "" && err != nil {
					want = key
				}
				if got := Text(lang, key, given...); got != want {
					t.Errorf("Text(%s, %q) with count %s = %q, want %q", lang, key, fmt.Sprint(count), got, want)
				}
			}
		}
	}
}

func TestAnUnknownTextIsItsKey(t *testing.T) {
	if got := Text("en", "no.such.text", "n", 1) + Text("xx", "nodes.title"); got != "no.such.textNodes" {
		t.Errorf("unknown texts say %q", got)
	}
	if got := Text("en", "nodes.actions_for"); got != "Actions for <no value>" {
		t.Errorf("a hole that nobody fills says %q", got)
	}
}

// BenchmarkText is said a thousand times in a list: budget 100 ns.
func BenchmarkText(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if Text("zh", "nodes.actions_for", "node", "order-service") == "" {
			b.Fatal("nothing said")
		}
	}
}
