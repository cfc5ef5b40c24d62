package nodeagent

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/nodeagent/wire"
)

func TestRegistrationCarriesWhatTheServerNeeds(t *testing.T) { // A2
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		cfg := p.config()
		cfg.Version, cfg.Modules, cfg.Erupts = "2.7.1", []string{"billing"}, []string{"Zebra"}
		a := newAgent(t, cfg)
		if err := a.Host(Page{Name: "Customer", Title: "Customers", Fields: []Field{Input("name", "Name")}, Source: NewMemSource()}); err != nil {
			t.Fatal(err)
		}
		stop := running(t, a)
		synctest.Wait()
		stop()
		beats := p.to(wire.RegisterPath)
		if len(beats) != 1 {
			t.Fatalf("%d registrations, want 1", len(beats))
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(beats[0].body), &got); err != nil {
			t.Fatal(err)
		}
		want := `{"accessToken":"` + testToken + `","eruptModules":["nodeagent","billing"],"erupts":["Customer","Zebra"],"instanceId":"kQzTbW",` +
			`"nodeAddress":["http://10.0.3.17:8081/shop"],"nodeName":"orders","version":"go-2.7.1"}`
		if body, _ := json.Marshal(got); string(body) != want {
			t.Errorf("registration\n got %s\nwant %s", body, want)
		}
		if beats[0].method != http.MethodPost || !strings.HasPrefix(beats[0].header.Get("Content-Type"), "application/json") {
			t.Errorf("sent as %s %s", beats[0].method, beats[0].header)
		}
	})
}

func TestBeats(t *testing.T) { // A31
	tests := map[string]struct {
		answer  func(n int, w http.ResponseWriter) // to the nth registration
		servers []string
		after   time.Duration
		want    []string // offset of each beat, and the server if there are several
	}{
		"every heartbeat": {nil, nil, 50 * time.Second, []string{"0s", "15s", "30s", "45s"}},
		"a failure is repeated at half, at the next server": {
			func(n int, w http.ResponseWriter) {
				if n < 2 {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}, []string{"http://a", "http://b"}, 31 * time.Second,
			[]string{"0s a", "7.5s b", "15s a", "30s a"},
		},
		"the server lengthens": {
			func(_ int, w http.ResponseWriter) { w.Header().Set(wire.HeaderHeartbeat, "30000") }, nil, 61 * time.Second,
			[]string{"0s", "30s", "1m0s"},
		},
		"the server shortens, not below a second": {
			func(_ int, w http.ResponseWriter) { w.Header().Set(wire.HeaderHeartbeat, "1") }, nil, 3500 * time.Millisecond,
			[]string{"0s", "1s", "2s", "3s"},
		},
		"the server lengthens, not beyond two minutes": {
			func(_ int, w http.ResponseWriter) { w.Header().Set(wire.HeaderHeartbeat, "99999999999999999") }, nil, 241 * time.Second,
			[]string{"0s", "2m0s", "4m0s"},
		},
		"a wish that is no number is none": {
			func(_ int, w http.ResponseWriter) { w.Header().Set(wire.HeaderHeartbeat, "-5") }, nil, 20 * time.Second, []string{"0s", "15s"},
		},
		"429 with seconds": {
			func(n int, w http.ResponseWriter) {
				if n == 0 {
					w.Header().Set("Retry-After", "40")
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}, nil, 50 * time.Second, []string{"0s", "40s"},
		},
		"429 that asks for an hour gets five minutes": {
			func(_ int, w http.ResponseWriter) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}, nil, 301 * time.Second, []string{"0s", "5m0s"},
		},
		"429 without a time is no tight loop": {
			func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, nil, 16 * time.Second,
			[]string{"0s", "7.5s", "15s"},
		},
		"a wrong token is no tight loop": { // S12
			func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, nil, 16 * time.Second,
			[]string{"0s", "7.5s", "15s"},
		},
		"a server that cannot be reached": {nil, []string{"http://down", "http://b"}, 8 * time.Second, []string{"7.5s b"}},
		"a server that never answers costs five seconds": {
			nil, []string{"http://hang", "http://b"}, 13 * time.Second, []string{"12.5s b"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{}
				n := 0
				p.on(func(w http.ResponseWriter, r *http.Request) bool {
					if tt.answer != nil && r.URL.Path == wire.RegisterPath {
						tt.answer(n, w)
						n++
					}
					return true
				})
				cfg := p.config()
				if tt.servers != nil {
					cfg.ServerAddresses = tt.servers
				}
				start := time.Now()
				stop := running(t, newAgent(t, cfg))
				time.Sleep(tt.after)
				synctest.Wait()
				var got []string
				for _, b := range p.to(wire.RegisterPath) {
					at := b.at.Sub(start).String()
					if tt.servers != nil {
						at += " " + b.host
					}
					got = append(got, at)
				}
				p.on(nil)
				stop()
				if !slices.Equal(got, tt.want) {
					t.Errorf("beats at %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestLogSaysStartFailuresAndReturn(t *testing.T) { // A31
	synctest.Test(t, func(t *testing.T) {
		p, log := &plane{}, &lines{}
		p.on(func(w http.ResponseWriter, r *http.Request) bool {
			writeError(w, r, http.StatusInternalServerError, "orders prohibiting\nthe registration")
			return true
		})
		cfg := p.config()
		cfg.Logger, cfg.Version = log.logger(), "3.2.1"
		stop := running(t, newAgent(t, cfg))
		time.Sleep(45 * time.Second) // beats at 0, 7.5, … 45: seven of them fail
		synctest.Wait()
		p.on(nil)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		stop()
		if got := log.containing("node is starting"); len(got) != 1 || !strings.Contains(got[0], "node=orders") ||
			!strings.Contains(got[0], "servers=http://plane") || !strings.Contains(got[0], "version=go-3.2.1") {
			t.Errorf("start line = %q, want name, server and version", got)
		}
		failed := log.containing("registration failed")
		if len(failed) != 3 || !strings.Contains(failed[2], "failures=4") || !strings.Contains(failed[0], "500 orders prohibiting the registration") {
			t.Errorf("failure lines = %q, want the 1st, 2nd and 4th with the server's reason in one line", failed)
		}
		if got := log.containing("connected again"); len(got) != 1 || !strings.Contains(got[0], "failures=7") {
			t.Errorf("return line = %q, want one with failures=7", got)
		}
	})
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		a := newAgent(t, p.config())
		if s := a.Status(); s.Registered || s.Server != "http://plane" {
			t.Errorf("before Run: %+v", s)
		}
		stop := running(t, a)
		synctest.Wait()
		if s := a.Status(); !s.Registered || s.Failures != 0 || s.InstanceID != "kQzTbW" || len(s.Addresses) != 1 || s.LastBeat.IsZero() {
			t.Errorf("while running: %+v", s)
		}
		stop()
		if s := a.Status(); !s.Draining {
			t.Errorf("after Run: %+v, want Draining", s)
		}
	})
}

func TestRotatedTokenIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		a := newAgent(t, p.config())
		stop := running(t, a)
		synctest.Wait()
		a.SetToken("NEW1")
		time.Sleep(16 * time.Second)
		synctest.Wait()
		stop()
		beats := p.to(wire.RegisterPath)
		if last := beats[len(beats)-1]; !strings.Contains(last.body, `"accessToken":"NEW1"`) {
			t.Errorf("second beat = %s, want the new token", last.body)
		}
		r := fromServer(http.MethodGet, wire.LogPath, "")
		if w := do(a.Handler(), r); w.Code != http.StatusUnauthorized {
			t.Errorf("old token: %d, want 401", w.Code)
		}
		r.Header.Set(wire.HeaderAccessToken, "NEW1")
		if w := do(a.Handler(), r); w.Code != http.StatusOK {
			t.Errorf("new token: %d, want 200", w.Code)
		}
	})
}

func TestSilentNodeSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		cfg := p.config()
		cfg.EnableRegister = new(false)
		stop := running(t, newAgent(t, cfg))
		time.Sleep(time.Minute)
		stop()
		if len(p.seen) != 0 {
			t.Errorf("sent %v, want nothing", p.seen)
		}
	})
}

func TestRunIsForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, (&plane{}).config())
		stop := running(t, a)
		synctest.Wait()
		if err := a.Run(t.Context()); err == nil {
			t.Error("a second Run was accepted")
		}
		stop()
	})
}

func TestRunNeedsAnAddress(t *testing.T) {
	cfg := (&plane{}).config()
	cfg.HostAddress = nil
	if err := newAgent(t, cfg).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "HostAddress") {
		t.Errorf("Run = %v, want an error that names HostAddress", err)
	}
}

func TestHugeAndBrokenAnswersAreFailures(t *testing.T) {
	tests := map[string]func(w http.ResponseWriter){
		"endless": func(w http.ResponseWriter) { _, _ = io.CopyN(w, zeros{}, maxAnswer+2) },
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://elsewhere/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{}
				p.on(func(w http.ResponseWriter, _ *http.Request) bool { answer(w); return true })
				cfg := p.config()
				cfg.HTTPClient = newClient()
				cfg.HTTPClient.Transport = p
				a := newAgent(t, cfg)
				stop := running(t, a)
				synctest.Wait()
				if s := a.Status(); s.Registered || s.Failures != 1 {
					t.Errorf("status = %+v, want one failure", s)
				}
				p.on(nil)
				stop()
				for _, s := range p.seen {
					if s.host == "elsewhere" {
						t.Error("the redirect was followed: the token went elsewhere")
					}
				}
			})
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
