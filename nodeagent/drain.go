package nodeagent

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"eruptcloud/nodeagent/wire"
)

// traffic counts requests in flight. Probes of the server are not among them.
type traffic struct {
	mu   sync.Mutex
	n    int
	last time.Time // when a request last came or went
}

func (t *traffic) enter() { t.move(1) }
func (t *traffic) exit()  { t.move(-1) }

func (t *traffic) move(by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += by
	t.last = time.Now()
}

func (t *traffic) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// quietSince reports since when nothing has been in flight; ok is false while something is.
func (t *traffic) quietSince() (since time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last, t.n == 0
}

// Track counts the requests of next as in flight, so that a leaving node waits for them. What the agent answers below
// /erupt-api, and what Mount passes on, is counted already.
func (a *Agent) Track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.traffic.enter()
		defer a.traffic.exit()
		next.ServeHTTP(w, r)
	})
}

// leave takes the instance out of routing, waits for requests in flight and says goodbye. Nothing is refused meanwhile.
func (a *Agent) leave(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	a.mu.Lock()
	a.beats.draining = true
	announced := a.beats.sent
	locations := a.beats.addresses
	a.mu.Unlock()
	settle := time.Duration(0) // a node that nobody routes to gets no late requests
	if announced {
		a.remove(ctx, locations, max(a.cfg.DrainTimeout, 0))
		settle = a.cfg.DrainSettle
	}
	a.waitForTraffic(settle)
	if announced {
		a.remove(ctx, locations, 0)
	}
	a.log.Info("node has left", "node", a.cfg.NodeName, "instance", a.cfg.InstanceID)
}

// remove tells the server that the locations leave; with a drain time they stay known until the second call, without one they
// are gone. A failure is logged and no more: the server finds out by itself, and the process must be able to end.
func (a *Agent) remove(ctx context.Context, locations []string, drain time.Duration) {
	form := url.Values{}
	form.Set(wire.FormNode, a.cfg.NodeName)
	form.Set(wire.FormToken, *a.token.Load())
	form.Set(wire.FormLocations, strings.Join(locations, ","))
	form.Set(wire.FormInstance, a.cfg.InstanceID)
	if drain > 0 {
		form.Set(wire.FormDrain, strconv.FormatInt(drain.Milliseconds(), 10))
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded;charset=UTF-8"}}
	r, err := a.ask(ctx, call{method: http.MethodPost, path: wire.RemovePath, header: header, body: []byte(form.Encode())})
	if err == nil && !r.ok() {
		err = &refusedError{r}
	}
	if err != nil {
		a.log.Warn("could not sign off", "node", a.cfg.NodeName, "draining", drain > 0, "error", err)
	}
}

const drainPoll = 20 * time.Millisecond

// waitForTraffic returns when nothing has been in flight for settle, or after DrainTimeout with a warning that tells how many
// requests are left.
func (a *Agent) waitForTraffic(settle time.Duration) {
	start := time.Now()
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	for {
		since, quiet := a.traffic.quietSince()
		if since.Before(start) {
			since = start
		}
		if quiet && time.Since(since) >= settle {
			return
		}
		if time.Since(start) >= a.cfg.DrainTimeout {
			if !quiet {
				a.log.Warn("drain timeout is over with requests still in flight", "node", a.cfg.NodeName,
					"inFlight", a.traffic.count(), "timeout", a.cfg.DrainTimeout)
			}
			return
		}
		<-ticker.C
	}
}
