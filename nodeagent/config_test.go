package nodeagent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/nodeagent/wire"
)

// publisher is a plane that serves configurations with tags.
type publisher struct {
	plane
	config   string
	revision string
	status   int // instead of a document
}

func publish(config, revision string) *publisher {
	p := &publisher{config: config, revision: revision}
	p.on(func(w http.ResponseWriter, r *http.Request) bool {
		p.mu.Lock()
		config, revision, status := p.config, p.revision, p.status
		p.mu.Unlock()
		switch r.URL.Path {
		case wire.RegisterPath:
			w.Header().Set(wire.HeaderConfigRevision, revision)
		case wire.EffectivePath + "orders":
			if status != 0 {
				writeError(w, r, status, "no")
				return true
			}
			w.Header().Set("ETag", `"`+revision+`"`)
			if r.Header.Get("If-None-Match") == `"`+revision+`"` {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
			_, _ = io.WriteString(w, config)
		case wire.NodeConfigPath + "orders":
			_, _ = io.WriteString(w, "{\"own\":true}")
		case wire.GroupConfigPath + "orders": // none
		default:
			return false
		}
		return true
	})
	return p
}

func (p *publisher) set(config, revision string, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config, p.revision, p.status = config, revision, status
}

func TestRawConfigs(t *testing.T) { // A29
	p := publish("{}", "r1")
	a := newAgent(t, p.plane.configOf(p))
	own, err := a.NodeConfig(t.Context())
	group, err2 := a.GroupConfig(t.Context())
	if own != `{"own":true}` || group != "" || err != nil || err2 != nil {
		t.Errorf("configs = %q, %v; %q, %v", own, err, group, err2)
	}
	if got := p.to(wire.NodeConfigPath + "orders")[0].header.Get(wire.HeaderAccessToken); got != testToken {
		t.Errorf("Access-Token = %q", got)
	}
}

// configOf is config with another transport.
func (p *plane) configOf(transport http.RoundTripper) Config {
	cfg := p.config()
	cfg.HTTPClient = &http.Client{Transport: transport}
	return cfg
}

func TestEffectiveConfigIsAskedForByTag(t *testing.T) {
	p := publish(`{"limit":3}`, "r1")
	a := newAgent(t, p.plane.configOf(p))
	for i := range 3 {
		doc, err := a.Effective(t.Context())
		var v struct{ Limit int }
		if err != nil || doc.Decode(&v) != nil || v.Limit != 3 || doc.Revision != `"r1"` || doc.Stale {
			t.Fatalf("call %d: %+v, %v", i, doc, err)
		}
	}
	asked := p.to(wire.EffectivePath + "orders")
	if asked[0].header.Get("If-None-Match") != "" || asked[2].header.Get("If-None-Match") != `"r1"` {
		t.Errorf("tags = %q, %q", asked[0].header.Get("If-None-Match"), asked[2].header.Get("If-None-Match"))
	}
}

func TestLastGoodConfigStays(t *testing.T) {
	tests := map[string]struct {
		config string
		status int
		stale  bool // the old one comes back; else an error
	}{
		"server in trouble":    {"", 503, true},
		"answer is no JSON":    {"<html>", 0, true},
		"answer is an array":   {"[1]", 0, true},
		"answer is null":       {"null", 0, true},
		"the node is refused":  {"", 401, false},
		"the node was deleted": {"", 404, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := publish(`{"limit":3}`, "r1")
			a := newAgent(t, p.plane.configOf(p))
			if _, err := a.Effective(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.set(tt.config, "r2", tt.status)
			doc, err := a.Effective(t.Context())
			if tt.stale && (err != nil || !doc.Stale || string(doc.JSON) != `{"limit":3}`) || !tt.stale && err == nil {
				t.Errorf("Effective = %+v, %v", doc, err)
			}
			p.set(`{"limit":4}`, "r3", 0)
			if doc, err := a.Effective(t.Context()); err != nil || doc.Stale || string(doc.JSON) != `{"limit":4}` {
				t.Errorf("afterwards: %+v, %v", doc, err)
			}
		})
	}
	p := publish("", "r1")
	p.set("", "r1", 500)
	if doc, err := newAgent(t, p.plane.configOf(p)).Effective(t.Context()); err == nil {
		t.Errorf("without any good one: %+v, want an error", doc)
	}
}

func TestConfigChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publish(`{"limit":1}`, "r1")
		a := newAgent(t, p.plane.configOf(p))
		var mu sync.Mutex
		var told []string
		start := time.Now()
		a.OnConfigChange(func(_ context.Context, d Document) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s %s", time.Since(start), d.JSON))
			if len(told) == 1 {
				panic("a callback's bug must not end the agent")
			}
		})
		stop := running(t, a)
		time.Sleep(20 * time.Second)
		p.set(`{"limit":2}`, "r2", 0) // the beat at 30 s says so
		time.Sleep(20 * time.Second)
		p.set(`{"limit":3}`, "r2", 500) // no beat tells; the server is in trouble for a while
		time.Sleep(10 * time.Minute)
		p.set(`{"limit":3}`, "r3", 0)
		time.Sleep(time.Minute)
		stop()
		mu.Lock()
		defer mu.Unlock()
		want := []string{`0s {"limit":1}`, `30s {"limit":2}`}
		if len(told) != 3 || !slices.Equal(told[:2], want) || !strings.HasSuffix(told[2], `{"limit":3}`) {
			t.Errorf("told %q, want %q and the third when the server is back", told, want)
		}
		if n := len(p.to(wire.EffectivePath + "orders")); n > 60 {
			t.Errorf("asked %d times in 12 minutes", n)
		}
	})
}

func TestPollFindsAChangeThatNoBeatTold(t *testing.T) { // the net below
	synctest.Test(t, func(t *testing.T) {
		p := publish(`{"limit":1}`, "r1")
		cfg := p.plane.configOf(p)
		cfg.ConfigPoll = time.Minute
		a := newAgent(t, cfg)
		told := 0
		a.OnConfigChange(func(context.Context, Document) { told++ })
		inner := p.answer
		p.on(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == wire.RegisterPath {
				return true // a server that does not name revisions
			}
			return inner(w, r)
		})
		stop := running(t, a)
		time.Sleep(30 * time.Second)
		p.set(`{"limit":2}`, "r2", 0)
		time.Sleep(time.Minute)
		stop()
		if told != 2 {
			t.Errorf("told %d times, want 2", told)
		}
	})
}

func TestNobodyInterestedAsksForNoConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publish(`{}`, "r1")
		stop := running(t, newAgent(t, p.plane.configOf(p)))
		time.Sleep(time.Hour)
		stop()
		if n := len(p.to(wire.EffectivePath + "orders")); n != 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestConfigErrorsDoNotShowTheToken(t *testing.T) {
	cfg := (&plane{}).config()
	cfg.ServerAddresses = []string{"http://down"}
	_, err := newAgent(t, cfg).NodeConfig(t.Context())
	if err == nil || strings.Contains(err.Error(), testToken) {
		t.Errorf("error = %v", err)
	}
}
