package fleet_test

import (
	"strings"
	"testing"

	"eruptcloud/app/fleet"
)

// TestMaskConfig: who may look at a config but not change it learns no secret from it, wherever it stands (D21).
func TestMaskConfig(t *testing.T) {
	tests := map[string]string{
		`{"b":1.50,"a":"x<y"}`:                                `{"b":1.50,"a":"x<y"}`,
		`{"db":{"password":"p","url":"u"}}`:                   `{"db":{"password":"••••••••","url":"u"}}`,
		`{"sources":[{"url":"u","password":"p"},["q"],null]}`: `{"sources":[{"url":"u","password":"••••••••"},["q"],null]}`,
		`{"secrets":["a",{"b":true},[]]}`:                     `{"secrets":["••••••••",{"b":"••••••••"},[]]}`,
		`{"api-key":12}`:                                      `{"api-key":"••••••••"}`,
		`{}`:                                                  `{}`,
		`{"password":"p"`:                                     ``,
		``:                                                    ``,
	}
	for in, want := range tests {
		if got := fleet.MaskConfig(in); got != want {
			t.Errorf("MaskConfig(%s) = %s, want %s", in, got, want)
		}
	}
	if got := fleet.MaskConfig(strings.Repeat("[", 1<<20)); got != "" {
		t.Errorf("of what is nested without end: %.20s", got)
	}
}
