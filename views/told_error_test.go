package views

import (
	"fmt"
	"strings"
	"testing"
)

func TestOldErrorsAreToldInTheReadersLanguage(t *testing.T) { // U71
	for _, tt := range []struct {
		format string
		args   []any
	}{
		{"no node is called %q", []any{`a "b" c`}},
		{"for the node %s this needs the permission %s", []any{"orders", "CloudNode@EDIT"}},
		{"internal error", nil},
	} {
		message := fmt.Sprintf(tt.format, tt.args...)
		want := Translate("zh", tt.format, tt.args...)
		if want == message {
			t.Fatalf("the catalogue does not know %q", tt.format)
		}
		if got := Retell("zh", message); got != want {
			t.Errorf("Retell(zh, %q) = %q, want %q", message, got, want)
		}
		if got := Retell("en", message); got != message {
			t.Errorf("Retell(en, %q) = %q", message, got)
		}
	}
	for _, message := range []string{"", "never heard of this", strings.Repeat("x: ", 2000)} {
		if got := Retell("zh", message); got != message {
			t.Errorf("Retell(zh, %q) = %q, want it as it is", message, got)
		}
	}
}

// TestEveryErrorFindsItsFormat: whatever fills a format of the catalogue, its own translation is found.
func TestEveryErrorFindsItsFormat(t *testing.T) {
	for _, e := range toldErrors() {
		if e.re.NumSubexp() == 0 && !e.re.MatchString(e.start) {
			t.Errorf("%q does not find itself", e.start)
		}
	}
}

func BenchmarkRetell(b *testing.B) {
	for b.Loop() {
		Retell("zh", `for the node orders this needs the permission CloudNode@EDIT`)
	}
}
