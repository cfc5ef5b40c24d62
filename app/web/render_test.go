package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/gin-gonic/gin"

	"eruptcloud/app/web"
	"eruptcloud/views"
)

// page is a component with two fragments, written by hand.
var page = templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
	for _, part := range []string{"head", "rows", "foot"} {
		ctx := templ.WithChildren(ctx, templ.Raw("<"+part+">"))
		c := templ.GetChildren(ctx)
		if part != "head" {
			if err := templ.Fragment(part).Render(ctx, w); err != nil {
				return err
			}
			continue
		}
		if err := c.Render(ctx, w); err != nil {
			return err
		}
	}
	return nil
})

func TestRender(t *testing.T) {
	tests := map[string]struct {
		headers   []string
		fragments []any
		want      string
	}{
		"browser":                      {nil, []any{"rows"}, "<head><rows><foot>"},
		"htmx":                         {[]string{"HX-Request", "true"}, []any{"rows"}, "<rows>"},
		"htmx, several":                {[]string{"HX-Request", "true"}, []any{"rows", "foot"}, "<rows><foot>"},
		"htmx, the target names one":   {[]string{"HX-Request", "true", "HX-Target", "foot"}, []any{"rows", "foot"}, "<foot>"},
		"htmx, no fragments":           {[]string{"HX-Request", "true"}, nil, "<head><rows><foot>"},
		"boosted":                      {[]string{"HX-Request", "true", "HX-Boosted", "true"}, []any{"rows"}, "<head><rows><foot>"},
		"history restored from afar":   {[]string{"HX-Request", "true", "HX-History-Restore-Request", "true"}, []any{"rows"}, "<head><rows><foot>"},
		"header that is not htmx' own": {[]string{"HX-Request", "yes"}, []any{"rows"}, "<head><rows><foot>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t)
			f.Engine().GET("/console/x", f.Handle(func(c *gin.Context) error {
				c.Status(http.StatusUnprocessableEntity)
				return web.Render(c, page, tt.fragments...)
			}))
			w := f.do("GET", "/console/x", tt.headers...)
			if w.Body.String() != tt.want || w.Code != 422 {
				t.Errorf("answered %d %q, want 422 %q", w.Code, w.Body, tt.want)
			}
			if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Vary") != "HX-Request" {
				t.Errorf("caching is %q, %q; a fragment must never stand in for its page", w.Header().Get("Cache-Control"), w.Header().Get("Vary"))
			}
		})
	}
}

func TestABrokenComponentSendsNothingOfItself(t *testing.T) {
	f := newShell(t)
	f.Engine().GET("/console/x", f.Handle(func(c *gin.Context) error {
		return web.Render(c, templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "half")
			return errors.New("no data")
		}))
	}))
	if w := f.do("GET", "/console/x"); w.Code != 500 || strings.Contains(w.Body.String(), "half") {
		t.Errorf("answered %d %s, want a clean 500", w.Code, w.Body)
	}
}

func TestRedirect(t *testing.T) {
	f := newShell(t, base("/fleet"))
	f.Engine().POST("/console/x", f.Handle(func(c *gin.Context) error { return web.Redirect(c, "/console/nodes", "q", "a b&c", "page", "2") }))
	const want = "/fleet/console/nodes?page=2&q=a+b%26c"
	if w := f.do("POST", "/console/x"); w.Code != 303 || w.Header().Get("Location") != want {
		t.Errorf("a form was sent %d to %q, want 303 to %q", w.Code, w.Header().Get("Location"), want)
	}
	if w := f.do("POST", "/console/x", "HX-Request", "true"); w.Code != 200 || w.Header().Get("HX-Redirect") != want || w.Header().Get("Location") != "" {
		t.Errorf("htmx was sent %d %v, want 200 and HX-Redirect", w.Code, w.Header())
	}
}

func TestFrame(t *testing.T) {
	tests := map[string]struct {
		headers []string
		want    string
	}{
		"defaults":              {nil, "en||UTC"},
		"browser's language":    {[]string{"Accept-Language", "zh-CN,en;q=0.5"}, "zh||UTC"},
		"cookies win":           {[]string{"Accept-Language", "zh", "Cookie", "ec_lang=en; ec_theme=dark; ec_zone=Asia/Shanghai"}, "en|dark|Asia/Shanghai"},
		"cookies by script":     {[]string{"Cookie", "ec_lang=en; ec_theme=light; ec_zone=Asia%2FShanghai"}, "en|light|Asia/Shanghai"},
		"cookies with nonsense": {[]string{"Cookie", "ec_lang=xx; ec_theme=pink; ec_zone=../../etc/passwd"}, "en||UTC"},
	}
	for name, tt := range tests {
		f := newShell(t)
		var got string
		f.Engine().GET("/console/x", func(c *gin.Context) {
			v := views.FrameOf(c.Request.Context())
			got = strings.Join([]string{v.Lang, v.Theme, v.Zone.String()}, "|")
			if v.Path != "/console/x?a=1" || v.Version != "test" || v.RequestID == "" || v.Now.IsZero() {
				t.Errorf("frame is %+v", v)
			}
		})
		if f.do("GET", "/console/x?a=1", tt.headers...); got != tt.want {
			t.Errorf("%s: frame is %q, want %q", name, got, tt.want)
		}
	}
}

func TestHealth(t *testing.T) {
	tests := map[string]struct {
		checks []web.Check
		status int
		want   string
	}{
		"all well":       {[]web.Check{{Name: "database", State: web.OK}}, 200, `"status":"ok"`},
		"degraded":       {[]web.Check{{Name: "redis", State: web.Degraded}}, 200, `"status":"degraded"`},
		"one failed":     {[]web.Check{{Name: "redis", State: web.Degraded}, {Name: "database", State: web.Failed, Detail: "no answer"}}, 503, `"status":"failed"`},
		"nothing to ask": {nil, 200, `"checks":[]`},
	}
	for name, tt := range tests {
		f := newShell(t, base("/ops/fleet"))
		f.MountHealth(func(context.Context) []web.Check { return tt.checks })
		for _, prefix := range []string{"", "/ops/fleet"} {
			if w := f.do("GET", prefix+"/readyz"); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%s: %s/readyz answered %d %s, want %d with %s", name, prefix, w.Code, w.Body, tt.status, tt.want)
			}
			if w := f.do("GET", prefix+"/livez"); w.Code != 200 {
				t.Errorf("%s: %s/livez answered %d, want 200 whatever the checks say", name, prefix, w.Code)
			}
		}
	}
}

func TestLimiter(t *testing.T) { // S14
	now := time.Unix(0, 0)
	l := web.NewLimiter(2, 3, 100, func() time.Time { return now })
	for i := range 3 {
		if ok, _ := l.Allow("a"); !ok {
			t.Fatalf("event %d of a burst of 3 was refused", i+1)
		}
	}
	ok, retry := l.Allow("a")
	if ok || retry != 500*time.Millisecond {
		t.Errorf("event 4 was allowed: %t, retry in %s; want a refusal for 500 ms", ok, retry)
	}
	if ok, _ := l.Allow("b"); !ok {
		t.Error("another key paid for the first")
	}
	now = now.Add(500 * time.Millisecond)
	if ok, _ := l.Allow("a"); !ok {
		t.Error("refused although the time it named has passed: a refusal must cost nothing")
	}
}

func TestLimiterForgetsTheOldestKeysOnly(t *testing.T) {
	now := time.Unix(0, 0)
	l := web.NewLimiter(0.001, 1, 100, func() time.Time { return now })
	l.Allow("busy")
	for i := range 1000 {
		if i%10 == 0 {
			if ok, _ := l.Allow("busy"); ok {
				t.Fatalf("a key in use was forgotten after %d others", i)
			}
		}
		l.Allow("key" + time.Duration(i).String())
	}
}

func TestRateLimit(t *testing.T) {
	f := newShell(t)
	f.Engine().GET("/api/v1/x", f.RateLimit(web.NewLimiter(0.1, 1, 10, func() time.Time { return time.Unix(0, 0) })), text("ok"))
	f.do("GET", "/api/v1/x")
	if w := f.do("GET", "/api/v1/x"); w.Code != 429 || w.Header().Get("Retry-After") != "10" {
		t.Errorf("the second request answered %d, Retry-After %q; want 429 and 10", w.Code, w.Header().Get("Retry-After"))
	}
}
