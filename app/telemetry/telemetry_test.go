package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/telemetry"
)

func TestLogsHoldNoSecrets(t *testing.T) {
	tests := map[string]slog.Attr{
		"a token":                 slog.String("access_token", "S3CRET"),
		"a password":              slog.String("password", "S3CRET"),
		"a cookie":                slog.String("Cookie", "ec=S3CRET"),
		"a token in a URL":        slog.String("url", "/erupt-api/tpl/x?_token=S3CRET&a=b"),
		"a token in JSON":         slog.String("body", `{"accessToken":"S3CRET","a":1}`),
		"a bearer":                slog.String("header", "Authorization: Bearer S3CRET"),
		"a header":                slog.String("header", "Access-Token: S3CRET"),
		"a database address":      slog.String("address", "root:S3CRET@tcp(10.0.0.5:3306)/x"),
		"a Redis URL in an error": slog.Any("error", errors.New("dial redis://:S3CRET@10.0.0.5:6379/0: refused")),
	}
	for name, attr := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			telemetry.NewLogger(&out, "info", "json").LogAttrs(t.Context(), slog.LevelInfo, "x", attr)
			if strings.Contains(out.String(), "S3CRET") {
				t.Errorf("the line %s shows the secret", out.String())
			}
		})
	}
}

func TestContextAttributes(t *testing.T) {
	var out strings.Builder
	log := telemetry.NewLogger(&out, "warn", "json")
	ctx := telemetry.With(context.Background(), slog.String("request_id", "r1"))
	log.InfoContext(ctx, "below the level")
	log.WarnContext(telemetry.With(ctx, slog.String("node", "crm")), "kept")
	var line map[string]any
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
		t.Fatalf("%q is not one JSON line: %v", out.String(), err)
	}
	if line["request_id"] != "r1" || line["node"] != "crm" || line["msg"] != "kept" {
		t.Errorf("line = %v, want the context's attributes", line)
	}
}

func TestDurationsAreTexts(t *testing.T) {
	for format, want := range map[string]string{"json": `"took":"571.407µs"`, "text": "took=571.407µs"} {
		var out strings.Builder
		telemetry.NewLogger(&out, "info", format).Info("served", "took", 571407*time.Nanosecond, slog.Group("in", "grace", 5*time.Second))
		if line := out.String(); !strings.Contains(line, want) || !strings.Contains(line, "5s") {
			t.Errorf("the %s line %s lacks %s or 5s", format, line, want)
		}
	}
}

func TestOpsHandlerServesMetricsAndProfiles(t *testing.T) {
	r := telemetry.NewMetrics()
	telemetry.Loops(r).Round("patrol", time.Second, errors.New("x"))
	h := telemetry.OpsHandler(r)
	for path, want := range map[string]string{"/metrics": `ec_loop_failures_total{loop="patrol"} 1`, "/debug/pprof/": "goroutine"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s = %d without %q", path, w.Code, want)
		}
	}
}
