package views_test

import (
	"strings"
	"testing"

	"eruptcloud/views"
)

func TestMatchLang(t *testing.T) { // S100
	tests := map[string]string{
		"zh-Hans-CN": "zh", "zh-Hant-TW": "zh", "zh-HK": "zh", "zh": "zh", "en-GB;q=0": "en", "*": "en", "": "en",
		"cmn-Hans": "zh", "yue": "zh", "en-US,en;q=0.9,zh-CN;q=0.8": "en", "zh-TW,zh;q=0.9,en;q=0.8": "zh", "en;q=0.5, zh;q=0.5": "en", "ZH": "zh",
		"en;q=0": "zh", "en;q=0, *": "zh", "zh;q=0, *": "en", "zh;q=0": "en", "zh;q=0.1, *;q=0.9": "en", "en;q=0, zh;q=0": "en", "en-GB;q=0, zh;q=0.3": "zh",
		"zh;q=7": "en", "zh;q=x": "en", "zhongwen": "en", "zh;level=1": "en",
		strings.Repeat("x-junk;;q=,", 400) + "zh": "en", "zh," + strings.Repeat("\x00\xff;=", 1000): "zh",
		"de, zh;q=0.5": "zh", "fr": "en", "en;q=0, zh;q=0.1": "zh", "zh;q=0, en": "en", "\x00\xff": "en",
	}
	for header, want := range tests {
		if got := views.MatchLang(header); got != want {
			t.Errorf("MatchLang(%.60q) = %q, want %q", header, got, want)
		}
	}
}

func TestTranslateFallsBackToEnglish(t *testing.T) {
	if got := views.Translate("zh", "no such %s text", "x"); got != "no such x text" {
		t.Errorf("Translate without an entry = %q, want the English text", got)
	}
}
