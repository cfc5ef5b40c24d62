package console

import (
	"context"
	"slices"
	"sync"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
)

var (
	_ Tokens   = (*fleet.Nodes)(nil)
	_ Drains   = (*fleet.Drains)(nil)
	_ Refusals = (*fleet.Refusals)(nil)
	_ History  = (*history.History)(nil)
)

// deepWorld is what of the fleet is younger than its profiles: drains, tokens, loads, refusals, history.
type deepWorld struct {
	mu       sync.Mutex
	drains   []fleet.Drain
	loads    map[string]InFlight // by first location
	refusals []fleet.Refusal
	graces   map[string]fleet.Grace
	old      map[string]bool // digests of tokens before the last rotation
	events   []history.Event // oldest first
	pages    PageCaller      // nil: nodes host none
}

// deepen adds it to a world.
func (w *world) deepen() *deepWorld {
	w.deep = &deepWorld{loads: map[string]InFlight{}, graces: map[string]fleet.Grace{}, old: map[string]bool{}}
	return w.deep
}

func (d *deepWorld) fill(o *Options) {
	o.Drains, o.Tokens, o.Loads, o.Refusals, o.History = fakeDrains{d}, fakeTokens{d}, fakeLoads{d}, fakeRefusals{d}, fakeHistory{d}
	if d.pages != nil {
		o.Pages = d.pages
	}
}

// limit makes a session's codes count in some groups only.
func (w *world) limit(account string, groups []int64, codes ...string) {
	w.login(account, false, codes...)
	s := w.sessions[account]
	s.Scopes = map[string][]int64{}
	for code := range s.Values {
		s.Scopes[code] = groups
	}
	w.sessions[account] = s
}

type fakeDrains struct{ *deepWorld }

func (f fakeDrains) find(node, instance string) int {
	return slices.IndexFunc(f.drains, func(d fleet.Drain) bool { return d.Node == node && d.Instance == instance })
}

func (f fakeDrains) Start(_ context.Context, d fleet.Drain) (fleet.Drain, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(d.Node, d.Instance); i >= 0 {
		return f.drains[i], nil
	}
	f.drains = append(f.drains, d)
	f.deepWorld.drains = f.drains
	return d, nil
}

func (f fakeDrains) End(_ context.Context, node, instance, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(node, instance)
	if i < 0 {
		return fault.New(fault.NotFound, "not draining")
	}
	f.deepWorld.drains = slices.Delete(f.drains, i, i+1)
	return nil
}

func (f fakeDrains) Of(_ context.Context, node string) ([]fleet.Drain, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.drains), func(d fleet.Drain) bool { return d.Node != node }), nil
}

func (f fakeDrains) Draining(node, instance string) (fleet.Drain, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(node, instance); i >= 0 {
		return f.drains[i], true
	}
	return fleet.Drain{}, false
}

type fakeLoads struct{ *deepWorld }

func (f fakeLoads) InFlight(_ string, locations []string) InFlight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loads[first(locations)]
}

type fakeRefusals struct{ *deepWorld }

func (f fakeRefusals) All() []fleet.Refusal { return f.refusals }
func (f fakeRefusals) Of(node string) []fleet.Refusal {
	return slices.DeleteFunc(slices.Clone(f.refusals), func(r fleet.Refusal) bool { return r.Node != node })
}

const rotatedToken = "ROTATEDTOKEN0016"

type fakeTokens struct{ *deepWorld }

func (f fakeTokens) RotateToken(_ context.Context, name, by string) (string, error) {
	f.graces[name] = fleet.Grace{Rotated: now, Account: by, Until: now.Add(24 * time.Hour)}
	return rotatedToken, nil
}

func (f fakeTokens) EndGrace(_ context.Context, name, _ string) error {
	if _, ok := f.graces[name]; !ok {
		return fault.New(fault.NotFound, "no older token is accepted")
	}
	delete(f.graces, name)
	return nil
}

func (f fakeTokens) Grace(name string) (fleet.Grace, bool) {
	g, ok := f.graces[name]
	return g, ok
}

func (f fakeTokens) TokenAge(_, digest string) fleet.TokenAge {
	if f.old[digest] {
		return fleet.TokenOld
	}
	return fleet.TokenCurrent
}

type fakeHistory struct{ *deepWorld }

func (f fakeHistory) Record(e history.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.ID = int64(len(f.events) + 1)
	f.deepWorld.events = append(f.events, e)
}

// List answers the filters that the console uses.
func (f fakeHistory) List(_ context.Context, q history.Filter) ([]history.Event, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []history.Event
	for _, e := range slices.Backward(f.events) {
		if e.Node == q.Node && (q.Instance == "" || e.Instance == q.Instance) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) && (q.Query == "" || includes(e.Reason+e.Account+e.Instance, q.Query)) {
			out = append(out, e)
		}
	}
	size := max(q.PageSize, 1)
	from := min((max(q.Page, 1)-1)*size, len(out))
	return out[from:min(from+size, len(out))], len(out), nil
}

// kinds are the kinds of what was recorded, oldest first.
func (d *deepWorld) kinds() []history.Kind {
	var out []history.Kind
	for _, e := range d.events {
		out = append(out, e.Kind)
	}
	return out
}
