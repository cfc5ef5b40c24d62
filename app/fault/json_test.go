package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/fault"
)

func TestJSONProblems(t *testing.T) {
	tests := map[string]struct {
		at   int
		want string
	}{
		`{"a":1,}`:                   {7, `a comma too many, or a key is missing, before '}'`},
		`{"a":}`:                     {5, `a value is missing before '}'`},
		`[1,]`:                       {3, `a value is missing before ']'`},
		`{"a":'x'}`:                  {5, `a single quote where a value is expected; texts stand in double quotes`},
		`{"a":True}`:                 {5, `'T' where a value is expected`},
		`{"a":订}`:                    {5, `'订' where a value is expected`},
		`{a:1}`:                      {1, `'a' where a key in double quotes is expected`},
		`{"a" 1}`:                    {5, `a colon is missing before '1'`},
		`{"a":1 "b":2}`:              {7, `a comma or } is missing before '"'`},
		`[1 2]`:                      {3, `a comma or ] is missing before '2'`},
		`{} x`:                       {3, `'x' after the end of the JSON document`},
		"{\"a\":\"x\n\"}":            {7, `a line break inside a text: its closing quote is missing, or the break must be written \n`},
		"{\"a\":\"\x01\"}":           {6, `a control character inside a text, which must be written \u0001`},
		`{"a":"\x"}`:                 {7, `'x' after a backslash, where one of " \ / b f n r t u must stand`},
		`{"a":"\u12g4"}`:             {10, `'g' after \u, where four hexadecimal digits must stand`},
		`{"a":-x}`:                   {6, `'x' in a number where a digit is expected`},
		`{"a":1.}`:                   {7, `'}' in a number where a digit is expected`},
		`{"a":01}`:                   {6, `a number must not begin with 0`},
		`[tru!]`:                     {4, `'!' in a word that must be true, false or null`},
		`{"a":`:                      {5, `the text ends too early`},
		`tru`:                        {3, `the text ends too early`},
		`{"a":"\`:                    {7, `the text ends too early`},
		strings.Repeat("[", 100_000): {10_000, `the values are nested too deeply`},
	}
	seen := []string{}
	for text, tt := range tests {
		var syntax *json.SyntaxError
		if err := json.Unmarshal([]byte(text), new(any)); !errors.As(err, &syntax) {
			t.Fatalf("%.40q: %v, want a syntax error", text, err)
		}
		at, format, args := fault.JSONProblem([]byte(text), syntax)
		if got := fmt.Sprintf(format, args...); got != tt.want || at != tt.at {
			t.Errorf("%.40q: byte %d: %s\nwant byte %d: %s", text, at, got, tt.at, tt.want)
		}
		seen = append(seen, format)
	}
	for _, format := range fault.JSONFormats {
		if !slices.Contains(seen, format) && format != "%q is not expected here" { // for what a later Go may say
			t.Errorf("no text here leads to %q", format)
		}
	}
}
