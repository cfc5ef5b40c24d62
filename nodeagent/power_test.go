package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/nodeagent/wire"
)

// session is the context of a guarded request with a token.
func session(t *testing.T, token string) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), callerKey{}, caller{token: token})
}

func TestPower(t *testing.T) { // A29: fail closed
	tests := map[string]struct {
		token  string
		status int
		body   string
		want   wire.Power
	}{
		"the server's word":      {"d1", 200, `{"add":true,"query":true,"edit":false}`, wire.Power{Add: true, Query: true}},
		"no session":             {"", 200, `{"add":true}`, wire.Power{}},
		"a refusal":              {"d1", 500, `{"status":500,"message":"x"}`, wire.Power{}},
		"an error object at 200": {"d1", 200, `{"status":500,"message":"x"}`, wire.Power{}},
		"an empty body":          {"d1", 200, ``, wire.Power{}},
		"null":                   {"d1", 200, `null`, wire.Power{}},
		"a page":                 {"d1", 200, `<html>`, wire.Power{}},
		"an array":               {"d1", 200, `[true]`, wire.Power{}},
		"text for a flag":        {"d1", 200, `{"add":"true"}`, wire.Power{}},
		"a redirect":             {"d1", 302, `{"add":true}`, wire.Power{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &plane{}
			p.on(func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
				return true
			})
			a := newAgent(t, p.config())
			if got, _ := a.Power(session(t, tt.token), "Customer"); got != tt.want {
				t.Errorf("Power = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestPowerAsksOnceInTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		a := newAgent(t, p.config())
		ask := func(token, erupt string) {
			if got, err := a.Power(session(t, token), erupt); err != nil || !got.Add {
				t.Errorf("Power = %+v, %v", got, err)
			}
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { ask("s1", "Customer") })
		}
		all.Wait()
		ask("s1", "CUSTOMER")
		if n := len(p.to(wire.PowerPath)); n != 1 {
			t.Errorf("asked %d times for one session, want 1", n)
		}
		ask("s2", "Customer")
		ask("s1", "Order")
		if n := len(p.to(wire.PowerPath)); n != 3 {
			t.Errorf("asked %d times, want once for each session and erupt", n)
		}
		time.Sleep(2*time.Second + time.Millisecond)
		ask("s1", "Customer")
		if n := len(p.to(wire.PowerPath)); n != 4 {
			t.Errorf("asked %d times, want again after 2 s", n)
		}
		first := p.to(wire.PowerPath)[0]
		if first.query.Get("nodeName") != "orders" || first.query.Get("eruptName") != "Customer" || first.header.Get("token") != "s1" {
			t.Errorf("asked with %v %v", first.query, first.header)
		}
	})
}

func TestPowerCacheIsBounded(t *testing.T) {
	var c powerCache
	for i := range 5 * maxPowers {
		_, _ = c.get(fmt.Sprint(i), func() (wire.Power, error) { return wire.Power{}, nil })
	}
	if len(c.entries) > maxPowers {
		t.Errorf("%d entries, want at most %d", len(c.entries), maxPowers)
	}
}

func TestPowerDoesNotEndWithTheFirstWhoAsked(t *testing.T) {
	p := &plane{}
	a := newAgent(t, p.config())
	ctx, cancel := context.WithCancel(session(t, "s1"))
	cancel()
	if got, err := a.Power(ctx, "Customer"); err != nil || !got.Add {
		t.Errorf("Power = %+v, %v", got, err)
	}
}

func TestUserInfo(t *testing.T) {
	tests := map[string]struct {
		token, body string
		status      int
		want        string // account
		wantErr     error
	}{
		"a user":              {"d1", `{"id":12,"account":"lin","org":"D-01","roles":["sales"]}`, 200, "lin", nil},
		"the session is over": {"d1", ``, 200, "", ErrNoSession},
		"no session":          {"", `{"account":"lin"}`, 200, "", ErrNoSession},
		"a refusal":           {"d1", `{"message":"no"}`, 401, "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &plane{}
			p.on(func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
				return true
			})
			got, err := newAgent(t, p.config()).UserInfo(session(t, tt.token))
			if got.Account != tt.want || (err == nil) != (tt.want != "") || tt.wantErr != nil && !errors.Is(err, tt.wantErr) {
				t.Errorf("UserInfo = %+v, %v; want %q, %v", got, err, tt.want, tt.wantErr)
			}
		})
	}
}

func TestPermission(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   bool
	}{
		"held": {200, "true", true}, "not held": {200, "false", false}, "no session": {401, "true", false},
		"error with a body": {500, "true", false}, "a page": {200, "<html>true", false}, "in quotes": {200, `"true"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &plane{}
			p.on(func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
				return true
			})
			if got, _ := newAgent(t, p.config()).Permission(session(t, "d1"), "a/b c"); got != tt.want {
				t.Errorf("Permission = %v, want %v", got, tt.want)
			}
			if got := p.seen[0].path; got != wire.PermissionPath+"a/b c" {
				t.Errorf("asked for %q", got)
			}
		})
	}
}

func TestTemplates(t *testing.T) { // A19
	p := &plane{}
	a := newAgent(t, p.config())
	err := a.HandleTemplate("Board.html", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _ := UserFrom(r.Context())
		_, _ = io.WriteString(w, "for "+user.Account)
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a/b", "../x", "a b", ".."} {
		if err := a.HandleTemplate(name, http.NotFoundHandler()); err == nil {
			t.Errorf("template %q was accepted", name)
		}
	}
	ask := func(path string) *httptest.ResponseRecorder {
		return do(a.Handler(), fromServer(http.MethodGet, "/erupt-api/tpl/"+path, ""))
	}
	if w := ask("Board.html"); w.Code != 200 || w.Body.String() != "for lin" {
		t.Errorf("held: %d %s", w.Code, w.Body)
	}
	if got := p.to(wire.PermissionPath + "board.html"); len(got) != 1 {
		t.Error("the permission was not asked for in lower case")
	}
	if w := ask("other.html"); w.Code != http.StatusNotFound {
		t.Errorf("unknown template: %d", w.Code)
	}
	p.on(func(w http.ResponseWriter, _ *http.Request) bool { _, _ = io.WriteString(w, "false"); return true })
	if w := ask("Board.html"); w.Code != http.StatusForbidden {
		t.Errorf("not held: %d", w.Code)
	}
}
