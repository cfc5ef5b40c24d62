// Package sharing lives with erupt servers of 2.1 or later in one Redis namespace: what they write of a node is taken over,
// what they remove leaves, and a server up to 2.0.4, which nobody can share with, is found out (erupt-wire 7.1).
package sharing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"eruptcloud/app/loop"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
)

const (
	workers      = 16 // probes at once
	maxInstances = 64 // of one node that are taken over
	// quiet is how many beats may pass before an instance that a Java server removed, and that does not beat through us, leaves.
	quiet = 2
)

// Entries are the node entries in Redis.
type Entries interface {
	Read(ctx context.Context, nodes []string) ([]redisstore.Entry, error)
}

// Registry is where instances are kept.
type Registry interface {
	View() *registry.View
	Register(ctx context.Context, in registry.Instance) (registry.Instance, bool, error)
	RemoveLocations(ctx context.Context, node string, locations []string, why registry.Reason) ([]string, error)
	Survey(ctx context.Context, nodes []string) error
}

// Prober asks a location whose it is.
type Prober interface {
	Handshake(ctx context.Context, location, node string) probe.Result
}

// Options configures a Sharer.
type Options struct {
	Entries  Entries
	Registry Registry
	Prober   Prober
	Names    func(context.Context) ([]string, error) // enabled nodes in the database
	Tokens   func(node string) []string              // accepted access tokens, the current one first
	Validate bool                                    // an entry must carry one of them
	Beat     time.Duration                           // of nodes
	Now      func() time.Time
}

// Sharer takes over what Java servers write. On one replica only: boot wraps Run in AsLeader.
type Sharer struct {
	Options
	seen    map[string]string      // node → hash of the entry last looked at
	missing map[place]time.Time    // since when Java's entry lacks a location of ours
	tried   map[place]time.Time    // when a location was last probed in vain
	refused map[place]probe.Result // what was said of it already
}

// place is a location of a node.
type place struct{ node, location string }

// New returns a Sharer.
func New(o Options) *Sharer {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sharer{
		Options: o, seen: map[string]string{}, missing: map[place]time.Time{}, tried: map[place]time.Time{}, refused: map[place]probe.Result{},
	}
}

// Run looks at the entries, several times within a beat, until ctx ends.
func (s *Sharer) Run(ctx context.Context) error {
	// Whoever leads again knows nothing of what happened meanwhile.
	clear(s.seen)
	clear(s.missing)
	return loop.Every(ctx, "entries of java servers", 0, s.Interval(), s.Once)
}

// Interval is the time between two looks.
func (s *Sharer) Interval() time.Duration { return max(s.Beat/3, 100*time.Millisecond) }

// Once takes over what changed since the last look, and writes what is ours and not there.
func (s *Sharer) Once(ctx context.Context) error {
	names, err := s.Names(ctx)
	if err != nil {
		return err
	}
	entries, err := s.Entries.Read(ctx, names)
	if err != nil {
		return err
	}
	v := s.Registry.View()
	var fresh []claim
	for _, e := range entries {
		if e.Old {
			continue
		}
		fresh = append(fresh, s.look(ctx, e, v)...)
	}
	s.register(ctx, fresh)
	s.tidy(names)
	return s.Registry.Survey(ctx, names)
}

// look follows one entry and returns the instances in it that we do not have.
func (s *Sharer) look(ctx context.Context, e redisstore.Entry, v *registry.View) []claim {
	listed := canonicals(e.Locations)
	s.follow(ctx, e, listed, v)
	spoke := e.Sum != "" && !e.Ours && s.seen[e.Node] != e.Sum
	s.seen[e.Node] = e.Sum
	if len(listed) == 0 || s.Validate && (e.Token == "" || !slices.Contains(s.Tokens(e.Node), e.Token)) {
		// A Java server refuses a wrong token, too, and writes the right one: such an entry is from before a rotation, or from
		// somebody who would be shown the node's token.
		return nil
	}
	if e.Ours {
		return nil // nobody spoke: it names what we know already, and what is to come speaks again
	}
	claims := claimsOf(e, listed, v)
	if spoke {
		s.renew(ctx, e, listed, v)
	}
	return claims
}

// follow takes out of the registry what a Java server removed from the entry. What it reported itself leaves at once. What
// beats at us stays if it goes on beating: its next beat is in the entry again, unless it said goodbye to the Java server.
func (s *Sharer) follow(ctx context.Context, e redisstore.Entry, listed []string, v *registry.View) {
	now := s.Now()
	var gone []string
	for _, l := range e.Mine {
		at := place{e.Node, l}
		in, known := v.ByLocation(e.Node, l)
		if slices.Contains(listed, l) || !known || in.Node == nil {
			delete(s.missing, at)
			continue
		}
		since, noticed := s.missing[at]
		switch {
		case in.Node.Shared:
			gone = append(gone, l)
		case !noticed:
			s.missing[at] = now
		case now.Sub(since) > quiet*s.Beat:
			gone = append(gone, l)
			delete(s.missing, at)
		}
	}
	if len(gone) == 0 {
		return
	}
	if _, err := s.Registry.RemoveLocations(ctx, e.Node, gone, registry.Leave); err != nil {
		slog.WarnContext(ctx, "what a Java server removed stays until the next look", "node", e.Node, "locations", gone, "error", err)
		return
	}
	slog.InfoContext(ctx, "left at a Java server that shares the namespace", "node", e.Node, "locations", gone)
}

// renew extends the leases of what beats at a Java server: whoever spoke last, and all that it lists and that do not beat at us.
func (s *Sharer) renew(ctx context.Context, e redisstore.Entry, listed []string, v *registry.View) {
	for _, in := range v.Node(e.Node) {
		if in.Node == nil || in.Draining() || len(in.Locations) == 0 || !subset(in.Locations, listed) {
			continue
		}
		spoke := in.ID == e.Instance && subset(in.Locations, canonicals(e.Addresses))
		switch {
		case spoke && in.Node.Shared:
			in.Node = s.detail(e, in.Node.Addresses)
		case !spoke && !in.Node.Shared:
			continue
		}
		if _, _, err := s.Registry.Register(ctx, in); err != nil {
			slog.WarnContext(ctx, "an instance that beats at a Java server was not renewed", "node", e.Node, "instance", in.ID, "error", err)
		}
	}
}

// claim is an instance that a Java server reports and we do not have.
type claim struct {
	entry     redisstore.Entry
	id        string
	locations []string
}

// claimsOf finds them: the one that spoke last under its own name, others under one made of the address.
func claimsOf(e redisstore.Entry, listed []string, v *registry.View) []claim {
	var claims []claim
	speaker := canonicals(e.Addresses)
	var fresh []string
	renamed := false // we have it under a name that we made
	for _, l := range listed {
		in, known := v.ByLocation(e.Node, l)
		switch {
		case known:
			renamed = renamed || in.Node != nil && in.Node.Shared && slices.Contains(speaker, l) && in.ID == madeID(l) && e.Instance != "" && e.Instance != in.ID
		case !slices.Contains(e.Mine, l): // else we have just removed it, and the entry follows
			fresh = append(fresh, l)
		}
	}
	if room := maxInstances - len(v.Node(e.Node)); len(fresh) > max(room, 0) {
		fresh = fresh[:max(room, 0)]
	}
	if own := both(speaker, fresh); e.Instance != "" && validID(e.Instance) && (len(own) > 0 || renamed) {
		claims = append(claims, claim{e, e.Instance, both(speaker, listed)})
	} else {
		speaker = nil
	}
	for _, l := range fresh {
		if !slices.Contains(speaker, l) {
			claims = append(claims, claim{e, madeID(l), []string{l}})
		}
	}
	return claims
}

// register probes what is new and takes over what gives the right name.
func (s *Sharer) register(ctx context.Context, fresh []claim) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(workers)
	for _, c := range slices.DeleteFunc(fresh, func(c claim) bool { return !s.due(c) }) {
		group.Go(func() error {
			for _, l := range c.locations {
				if r := s.Prober.Handshake(ctx, l, c.entry.Node); !r.OK {
					mu.Lock()
					defer mu.Unlock()
					s.refuse(ctx, place{c.entry.Node, l}, r)
					return nil
				}
			}
			s.enter(ctx, c)
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// due tells whether a claim is worth a probe: one that failed waits a beat.
func (s *Sharer) due(c claim) bool {
	for _, l := range c.locations {
		if s.Now().Sub(s.tried[place{c.entry.Node, l}]) < s.Beat {
			return false
		}
	}
	return true
}

func (s *Sharer) refuse(ctx context.Context, at place, r probe.Result) {
	if ctx.Err() != nil || r.Unsure {
		return
	}
	s.tried[at] = s.Now()
	if was, said := s.refused[at]; said && was.Layer == r.Layer {
		return
	}
	s.refused[at] = r
	slog.WarnContext(ctx, "a location that a Java server reports is not taken over", "node", at.node, "location", at.location, "layer", r.Layer, "error", r.Err)
}

func (s *Sharer) enter(ctx context.Context, c claim) {
	in := registry.Instance{
		Key:      registry.Key{App: strings.ToUpper(c.entry.Node), ID: c.id},
		NodeName: c.entry.Node, Origin: registry.OriginNode, Status: registry.Up, Locations: c.locations, Node: s.detail(c.entry, c.locations),
	}
	_, added, err := s.Registry.Register(ctx, in)
	if err != nil {
		slog.WarnContext(ctx, "an instance that a Java server reports is not taken over", "node", in.NodeName, "instance", in.ID, "error", err)
		return
	}
	if !added {
		return
	}
	slog.InfoContext(ctx, "took over an instance from a Java server that shares the namespace", "node", in.NodeName, "instance", in.ID, "locations", in.Locations)
}

// detail is what an entry says of an instance. The token that the proxy shows is the database's.
func (s *Sharer) detail(e redisstore.Entry, addresses []string) *registry.NodeDetail {
	token := ""
	if tokens := s.Tokens(e.Node); slices.Contains(tokens, e.Token) {
		token = e.Token
	} else if len(tokens) > 0 {
		token = tokens[0]
	}
	sum := sha256.Sum256([]byte(token))
	return &registry.NodeDetail{
		Version: clip(e.Version), Addresses: addresses, Modules: e.Modules, Erupts: e.Erupts, Resources: e.Resources, Extra: e.Extra,
		Token: hex.EncodeToString(sum[:]), Shared: true,
	}
}

// tidy forgets what was noted of nodes that are no more and of probes long ago.
func (s *Sharer) tidy(names []string) {
	for at, when := range s.tried {
		if !slices.Contains(names, at.node) || s.Now().Sub(when) > 10*s.Beat {
			delete(s.tried, at)
			delete(s.refused, at)
		}
	}
	for at := range s.missing {
		if !slices.Contains(names, at.node) {
			delete(s.missing, at)
		}
	}
	for node := range s.seen {
		if !slices.Contains(names, node) {
			delete(s.seen, node)
		}
	}
}
