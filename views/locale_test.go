package views_test

import (
	"testing"

	"eruptcloud/views"
)

func TestMatchLang(t *testing.T) { // S100
	tests := map[string]string{
		"zh-Hans-CN": "zh", "zh-Hant-TW": "zh", "zh-HK": "zh", "zh": "zh", "en-GB;q=0": "en", "*": "en", "": "en",
		"de, zh;q=0.5": "zh", "fr": "en", "en;q=0, zh;q=0.1": "zh", "zh;q=0, en": "en", "\x00\xff": "en",
	}
	for header, want := range tests {
		if got := views.MatchLang(header); got != want {
			t.Errorf("MatchLang(%q) = %q, want %q", header, got, want)
		}
	}
}

func TestTranslateFallsBackToEnglish(t *testing.T) {
	if got := views.Translate("zh", "no such %s text", "x"); got != "no such x text" {
		t.Errorf("Translate without an entry = %q, want the English text", got)
	}
}
