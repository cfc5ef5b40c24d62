package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

// TestErrorsTakeTheFormTheCallerReads: S61, S90 and design: programs get JSON, htmx a notice, browsers a page.
func TestErrorsTakeTheFormTheCallerReads(t *testing.T) {
	const html = "text/html,application/xhtml+xml"
	tests := map[string]struct {
		target  string
		headers []string
		want    string // content type; for HTML a mark that tells page from notice
	}{
		"script":                            {"/api/v1/x", nil, "application/json"},
		"script that prefers HTML":          {"/api/v1/x", []string{"Accept", html}, "application/json"},
		"old node, whose Accept is HTML":    {"/erupt-cloud-api/x", []string{"Accept", "text/html,application/json"}, "application/json"},
		"forged fragment on the node's API": {"/erupt-api/x", []string{"HX-Request", "true"}, "application/json"},
		"browser":                           {"/console/x", []string{"Accept", html}, "page"},
		"htmx":                              {"/console/x", []string{"Accept", "*/*", "HX-Request", "true"}, "notice"},
		"boosted link":                      {"/console/x", []string{"Accept", html, "HX-Request", "true", "HX-Boosted", "true"}, "page"},
		"restored history":                  {"/console/x", []string{"Accept", html, "HX-Request", "true", "HX-History-Restore-Request", "true"}, "page"},
		"console as JSON":                   {"/console/x", []string{"Accept", "application/json"}, "application/json"},
		"curl":                              {"/console/x", []string{"Accept", "*/*"}, "application/json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newShell(t).do("GET", tt.target, tt.headers...)
			got := w.Header().Get("Content-Type")
			switch body := w.Body.String(); {
			case strings.HasPrefix(got, "text/html") && strings.Contains(body, "<html"):
				got = "page"
			case strings.HasPrefix(got, "text/html") && strings.Contains(body, `role="alert"`):
				got = "notice"
			}
			if got != tt.want || w.Code != 404 {
				t.Errorf("%s with %v answered %d %q, want 404 %q", tt.target, tt.headers, w.Code, got, tt.want)
			}
		})
	}
}

func failing(t *testing.T, err error) *fixture {
	f := newShell(t)
	f.Engine().GET("/api/v1/fail", f.Handle(func(*gin.Context) error { return err }))
	f.Engine().GET("/console/fail", f.Handle(func(*gin.Context) error { return err }))
	return f
}

func TestEnvelope(t *testing.T) {
	f := failing(t, fault.New(fault.TooMany, "wait a %s", "moment").Retry(1500*time.Millisecond).Field("name", "is taken").Because(errors.New("hunter2")))
	w := f.do("GET", "/api/v1/fail")
	if w.Header().Get("Retry-After") != "2" || strings.Contains(w.Body.String(), "hunter2") {
		t.Errorf("Retry-After %q, body %s; want 2 and no cause", w.Header().Get("Retry-After"), w.Body)
	}
	e := envelope(t, w)
	want := web.Envelope{Timestamp: "2026-07-01T12:00:00.000Z", Path: "/api/v1/fail", Status: 429, Error: "Too Many Requests", Message: "wait a moment",
		Code: "too_many", Fields: map[string]string{"name": "is taken"}, RequestID: e.RequestID}
	if e.Timestamp != want.Timestamp || e.Path != want.Path || e.Status != want.Status || e.Error != want.Error || e.Message != want.Message || e.Code != want.Code || e.Fields["name"] != "is taken" {
		t.Errorf("envelope is %+v, want %+v", e, want)
	}
	if n := strings.Count(f.log.String(), "hunter2"); n != 1 {
		t.Errorf("the cause is %d times in the log, want once", n)
	}
	if n := testutil.CollectAndCount(f.reg, "ec_faults_total"); n != 1 {
		t.Errorf("faults_total has %d series, want the one of too_many", n)
	}
}

func TestForeignErrorsStayInside(t *testing.T) { // S60
	err := errors.New("dial tcp 10.0.0.5: password=hunter2 <img src=x onerror=alert(1)>")
	for _, target := range []string{"/api/v1/fail", "/console/fail"} {
		w := failing(t, err).do("GET", target, "Accept", "text/html")
		if w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") || strings.Contains(w.Body.String(), "<img") {
			t.Errorf("%s answered %d %s, want 500 and nothing of the cause", target, w.Code, w.Body)
		}
	}
}

func TestMarkupInMessagesIsText(t *testing.T) { // S60
	w := failing(t, fault.New(fault.NotFound, "no node is called %q", "<img src=x onerror=alert(1)>")).do("GET", "/console/fail", "Accept", "text/html")
	if strings.Contains(w.Body.String(), "<img") {
		t.Errorf("the page holds live markup: %s", w.Body)
	}
}

func TestKindsOfErrors(t *testing.T) {
	tests := map[string]struct {
		err  error
		want int
	}{
		"body over a limit":  {&http.MaxBytesError{Limit: 10}, 413},
		"our deadline":       {context.DeadlineExceeded, 503},
		"somebody's cancel":  {context.Canceled, 500},
		"disabled node (A3)": {fault.New(fault.RegistrationProhibited, "x prohibiting the registration"), 500},
		"missing permission": {web.Permit(&[]sessionT{{}}[0], "CloudNode"), 403},
	}
	for name, tt := range tests {
		if w := failing(t, tt.err).do("GET", "/api/v1/fail"); w.Code != tt.want {
			t.Errorf("%s: answered %d, want %d", name, w.Code, tt.want)
		}
	}
}

func TestMissingPermissionIsNamed(t *testing.T) { // U80
	w := failing(t, web.Permit(&sessionT{}, "CloudNode@ADD")).do("GET", "/console/fail", "Accept", "text/html")
	if w.Code != 403 || !strings.Contains(w.Body.String(), "CloudNode@ADD") {
		t.Errorf("answered %d %s, want 403 and the code that is missing", w.Code, w.Body)
	}
}

func TestAnErrorAfterTheAnswerHasBegunBreaksIt(t *testing.T) {
	f := newShell(t)
	f.Engine().GET("/api/v1/x", f.Handle(func(c *gin.Context) error {
		c.String(200, "half")
		return errors.New("lost the rest")
	}))
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || !strings.Contains(f.log.String(), `"aborted":true`) {
			t.Errorf("handler ended with %v, log %s; want http.ErrAbortHandler, and the log to say so", p, &f.log)
		}
	}()
	f.do("GET", "/api/v1/x")
}

func TestAClientThatLeftGetsNoAnswer(t *testing.T) {
	f := failing(t, context.Canceled)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || strings.Contains(f.log.String(), "internal") || !strings.Contains(f.log.String(), `"status":499`) {
			t.Errorf("ended with %v, log %s; want ErrAbortHandler, no internal error and status 499", p, &f.log)
		}
	}()
	f.Handler().ServeHTTP(w, request("GET", "/api/v1/fail").WithContext(ctx))
}
