package boot

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"

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

// removals takes locations out of the registry.
type removals interface {
	View() *registry.View
	RemoveLocations(ctx context.Context, node string, locations []string, why registry.Reason) ([]string, error)
}

// directory tells the proxy which instances of a node may be used. It implements proxy.Directory.
type directory struct {
	nodes     nodeProfiles
	holds     locationHolds
	registry  removals
	cursors   proxy.Cursors
	evictions chan eviction
}

type eviction struct{ node, location string }

func newDirectory(nodes nodeProfiles, holds locationHolds, r removals) *directory {
	return &directory{nodes: nodes, holds: holds, registry: r, evictions: make(chan eviction, 256)}
}

// Known implements proxy.Directory.
func (d *directory) Known(node string) bool {
	_, ok := d.nodes.Cached(node)
	return ok
}

// Lookup implements proxy.Directory: the instances that are up and not held, rotated by the node's own cursor (A13).
func (d *directory) Lookup(node string) (proxy.Target, error) {
	profile, ok := d.nodes.Cached(node)
	if !ok {
		return proxy.Target{}, proxy.Fail(proxy.NodeNotReady, "'%s' node not ready", node)
	}
	if !profile.Enabled {
		return proxy.Target{}, proxy.Fail(proxy.NodeNotReady, "'%s' is disabled", node)
	}
	t := proxy.Target{Node: profile.Name, RawSession: profile.RawSession}
	tokens := d.nodes.Tokens(profile.Name)
	for _, in := range d.registry.View().Node(profile.Name) {
		if in.Status != registry.Up || in.Node == nil {
			continue
		}
		t.Version = in.Node.Version // the view is oldest first: the newest stays
		for _, location := range in.Locations {
			if _, held := d.holds.Held(profile.Name, location); !held {
				t.Upstreams = append(t.Upstreams, proxy.Upstream{Location: location, Instance: in.ID, Token: tokenOf(in.Node.Token, tokens)})
			}
		}
	}
	if len(t.Upstreams) == 0 {
		return proxy.Target{}, proxy.Fail(proxy.NodeNotReady, "'%s' has no available instance", node)
	}
	t.Upstreams = proxy.Rotate(d.cursors.Of(profile.Name), t.Upstreams)
	return t, nil
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
	// the registry logs what it removes, and asks its brake first
	if _, err := d.registry.RemoveLocations(ctx, e.node, []string{e.location}, registry.Failover); err != nil {
		slog.WarnContext(ctx, "an instance that refused connections stays until the next survival check", "node", e.node, "location", e.location, "error", err)
	}
}
