package boot

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"maps"
	"slices"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/proxy"
)

// nodeProfiles is what directory asks the fleet, all of it from memory.
type nodeProfiles interface {
	Cached(name string) (fleet.Node, bool)
	Tokens(name string) []string
}

// locationHolds tells whether an admin took a location out of routing.
type locationHolds interface {
	Held(node, location string) (fleet.Hold, bool)
}

// instanceDrains tells whether an instance is to finish what it has and to get nothing more (D12).
type instanceDrains interface {
	Draining(node, instance string) (fleet.Drain, bool)
}

// removals takes locations out of the registry.
type removals interface {
	View() *registry.View
	RemoveLocations(ctx context.Context, node string, locations []string, why registry.Reason) ([]string, error)
}

// directory tells the proxy which instances of a node may be used. It implements proxy.Directory, proxy.Locator and
// proxy.Explainer.
type directory struct {
	nodes     nodeProfiles
	holds     locationHolds
	drains    instanceDrains
	registry  removals
	cursors   proxy.Cursors
	evictions chan eviction
	evicted   evictedLocations
}

type eviction struct{ node, location string }

func newDirectory(nodes nodeProfiles, holds locationHolds, drains instanceDrains, r removals) *directory {
	return &directory{
		nodes: nodes, holds: holds, drains: drains, registry: r, evictions: make(chan eviction, 256),
		evicted: evictedLocations{now: time.Now},
	}
}

// Known implements proxy.Directory.
func (d *directory) Known(node string) bool {
	_, ok := d.nodes.Cached(node)
	return ok
}

// Names implements proxy.Lister: the pages that the instances of enabled nodes offer.
func (d *directory) Names() []string {
	seen := map[string]bool{}
	for _, in := range d.registry.View().All() {
		if in.Node == nil || in.Status != registry.Up {
			continue
		}
		if profile, ok := d.nodes.Cached(in.NodeName); ok && profile.Enabled {
			for _, erupt := range in.Node.Erupts {
				seen[profile.Name+"."+erupt] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Lookup implements proxy.Directory: the instances that are up, not held and not draining, rotated by the node's own cursor
// (A13).
func (d *directory) Lookup(node string) (proxy.Target, error) {
	var t proxy.Target
	err := d.find(node, &t)
	if err == nil {
		t.Upstreams = proxy.Rotate(d.cursors.Of(t.Node), t.Upstreams)
	}
	return t, err
}

// Peek implements proxy.Explainer.
func (d *directory) Peek(node string) (proxy.Target, error) {
	var t proxy.Target
	err := d.find(node, &t)
	if err == nil {
		t.Upstreams = proxy.Peek(d.cursors.Of(t.Node), t.Upstreams)
	}
	return t, err
}

// Candidates implements proxy.Explainer.
func (d *directory) Candidates(node string) (all []proxy.Candidate, enabled bool) {
	profile, ok := d.nodes.Cached(node)
	if !ok {
		return nil, false
	}
	var t proxy.Target
	d.sort(&profile, &t)
	for _, up := range proxy.Peek(d.cursors.Of(t.Node), t.Upstreams) {
		all = append(all, proxy.Candidate{Location: up.Location, Instance: up.Instance, Standing: proxy.Routed})
	}
	return append(all, t.Skipped...), profile.Enabled
}

// find makes t a node's target, its upstreams oldest first. What is skipped is told with an error, too.
func (d *directory) find(node string, t *proxy.Target) error {
	profile, ok := d.nodes.Cached(node)
	if !ok {
		return proxy.Fail(proxy.NodeNotReady, "'%s' node not ready", node)
	}
	d.sort(&profile, t)
	switch {
	case !profile.Enabled:
		t.Upstreams = nil
		return proxy.Fail(proxy.NodeNotReady, "'%s' is disabled", node)
	case len(t.Upstreams) == 0:
		return proxy.Fail(proxy.NodeNotReady, "'%s' has no available instance", node)
	}
	return nil
}

// sort parts the locations of a node: those that take requests, and the others with the reason. It is below every request
// and copies no instance.
func (d *directory) sort(profile *fleet.Node, t *proxy.Target) {
	t.Node, t.RawSession = profile.Name, profile.RawSession
	tokens := d.nodes.Tokens(t.Node)
	all := d.registry.View().Node(t.Node)
	for i := range all {
		in := &all[i]
		if in.Node == nil {
			continue
		}
		drain, ordered := d.drains.Draining(t.Node, in.ID)
		switch {
		case ordered:
			skip(t, in, proxy.Candidate{Standing: proxy.Draining, Why: drain.Reason, By: drain.Account, Since: drain.Created})
		case in.Draining():
			skip(t, in, proxy.Candidate{Standing: proxy.Draining, Since: in.Updated})
		case in.Status == registry.Up:
			d.offer(t, in, tokens)
		}
	}
	t.Skipped = d.evicted.add(t.Skipped, t.Node, d.registry.View)
}

// skip keeps all locations of an instance out, with the reason.
func skip(t *proxy.Target, in *registry.Instance, why proxy.Candidate) {
	why.Instance = in.ID
	for _, why.Location = range in.Locations {
		t.Skipped = append(t.Skipped, why)
	}
}

// offer lets the locations of an instance take requests, but those that are held.
func (d *directory) offer(t *proxy.Target, in *registry.Instance, tokens []string) {
	t.Version = in.Node.Version // the view is oldest first: the newest stays
	for _, location := range in.Locations {
		if hold, held := d.holds.Held(t.Node, location); held {
			t.Skipped = append(t.Skipped, proxy.Candidate{
				Location: location, Instance: in.ID, Standing: proxy.Held, Why: hold.Reason, By: hold.Account, Since: hold.Created,
			})
			continue
		}
		t.Upstreams = append(t.Upstreams, proxy.Upstream{Location: location, Instance: in.ID, Token: tokenOf(in.Node.Token, tokens)})
	}
}

// At implements proxy.Locator: also a held or draining instance's log can be read.
func (d *directory) At(node, location string) (proxy.Target, error) {
	profile, ok := d.nodes.Cached(node)
	if !ok {
		return proxy.Target{}, proxy.Fail(proxy.NodeNotReady, "'%s' node not ready", node)
	}
	in, ok := d.registry.View().ByLocation(profile.Name, location)
	if !ok || in.Node == nil {
		return proxy.Target{}, proxy.Fail(proxy.NodeNotReady, "'%s' has no instance at %s", node, location)
	}
	return proxy.Target{
		Node: profile.Name, Version: in.Node.Version, RawSession: profile.RawSession,
		Upstreams: []proxy.Upstream{{Location: location, Instance: in.ID, Token: tokenOf(in.Node.Token, d.nodes.Tokens(profile.Name))}},
	}, nil
}

// tokenOf returns the accepted token that the instance registered with, by its digest, else the current one (A20).
func tokenOf(digest string, accepted []string) string {
	if len(accepted) == 0 {
		return ""
	}
	for _, token := range accepted {
		sum := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(digest)) == 1 {
			return token
		}
	}
	return accepted[0]
}

// Evict implements proxy.Directory. A full queue drops the wish: the next patrol puts right what it missed (A11).
func (d *directory) Evict(_ context.Context, node, location string) {
	select {
	case d.evictions <- eviction{node, location}:
	default:
	}
}

// Run carries out evictions until ctx ends.
func (d *directory) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-d.evictions:
			d.evict(ctx, e)
		}
	}
}

func (d *directory) evict(ctx context.Context, e eviction) {
	in, _ := d.registry.View().ByLocation(e.node, e.location)
	// the registry logs what it removes, and asks its brake first
	removed, err := d.registry.RemoveLocations(ctx, e.node, []string{e.location}, registry.Failover)
	for _, location := range removed {
		d.evicted.note(e.node, in.ID, location)
	}
	if err != nil {
		slog.WarnContext(ctx, "an instance that refused connections stays until the next survival check", "node", e.node, "location", e.location, "error", err)
	}
}
