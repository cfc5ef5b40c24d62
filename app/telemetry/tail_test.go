package telemetry_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"eruptcloud/app/telemetry"
)

func TestTailKeepsTheNewestEvents(t *testing.T) { // erupt-wire 2.9, 3.3
	var tail telemetry.Tail
	var out bytes.Buffer
	log := telemetry.NewLogger(tail.Beside(&out), "info", "json")
	log.Info("login refused", "account", "lin", "password", "hunter2", "url", "/x?_token=abcdef0123456789")
	log.Debug("never seen")
	got := tail.Events(-1, 10)
	if len(got) != 1 || got[0].Number != 1 || !strings.Contains(got[0].Text, "INFO  login refused account=lin password=*** url=\"/x?_token=***\"") {
		t.Fatalf("the tail holds %+v, want one line without secrets", got)
	}
	if !strings.Contains(out.String(), `"msg":"login refused"`) {
		t.Errorf("the log itself got %q", &out)
	}
	log = telemetry.NewLogger(tail.Beside(io.Discard), "info", "text")
	for i := range 1500 {
		log.Info("event", "n", i)
	}
	tests := map[string]struct {
		from        int64
		size        int
		first, last int64
	}{
		"the newest":             {-1, 3, 1499, 1501},
		"all":                    {0, 5000, 502, 1501},
		"from one that is gone":  {1, 2, 502, 503},
		"from the newest":        {1501, 500, 1501, 1501},
		"from beyond the newest": {1600, 500, 0, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tail.Events(tt.from, tt.size)
			var first, last int64
			if len(got) > 0 {
				first, last = got[0].Number, got[len(got)-1].Number
			}
			if first != tt.first || last != tt.last || len(got) > tt.size {
				t.Errorf("events %d to %d (%d), want %d to %d", first, last, len(got), tt.first, tt.last)
			}
			for _, e := range got {
				if !strings.Contains(e.Text, fmt.Sprintf("n=%d", e.Number-2)) {
					t.Fatalf("event %d says %q", e.Number, e.Text)
				}
			}
		})
	}
	log.Warn("two words", "level", "high")
	if got := tail.Events(-1, 1)[0].Text; !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\S+ WARN  "two words" level=high$`).MatchString(got) {
		t.Errorf("a line of the text form reads %q", got)
	}
	log.Info(strings.Repeat("長", 1<<20))
	if got := tail.Events(-1, 1)[0].Text; len(got) > 5<<10 || !strings.HasSuffix(got, "長") && !strings.HasSuffix(got, "\uFFFD") {
		t.Errorf("a long event is kept with %d bytes", len(got))
	}
}
