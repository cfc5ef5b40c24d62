package registry

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Merge returns what to store when a node's instance registers: in is what it reported, old what is stored, found false
// if nothing is. Its locations are all that it reported; Resolve says which of them it has.
//
// The newest registration is the truth (A6). What survives from old are its history and, while it reports the same
// addresses, its claim on them and that it is draining: a beat that was on its way when the instance said goodbye must not
// bring it back into routing.
func Merge(old Instance, found bool, in Instance, now time.Time) Instance {
	in.Rev, in.Action, in.Status, in.Override, in.Unconfirmed = old.Rev, Added, Up, "", false
	in.Registered, in.Up, in.Updated, in.Claimed, in.Moved, in.Foreign = now, now, now, now, nil, nil
	if !found {
		return in
	}
	if old.Unconfirmed {
		in.Rev = 0
	} else {
		in.Action = Modified
	}
	in.Registered, in.Override, in.Foreign, in.Moved = old.Registered, old.Override, old.Foreign, old.Moved
	if old.Status == Up {
		in.Up = old.Up
	}
	before, after := old.addresses(), in.addresses()
	switch {
	case sameSet(before, after):
		in.Claimed, in.Status = old.Claimed, old.Status
		if in.Node != nil && old.Node != nil {
			detail := *in.Node
			detail.Addresses = old.Node.Addresses // another order says nothing new
			in.Node = &detail
		}
	case !overlap(before, after):
		in.Moved = &Move{From: before, At: now}
	}
	return in
}

// Claims is who has the addresses that an instance reported.
type Claims struct {
	Kept   []string       // the instance's locations, in the order in which it reported them
	Lost   map[string]Key // addresses that a later claim holds
	Losers []Instance     // other instances without what they lose to it; Locations may be empty
}

// Resolve decides between instances of one node that report the same address: the later claim has it. A restarted process
// therefore takes its predecessor's address, and a predecessor that is alive after all does not take it back with its
// next beat: its claim stays older.
func Resolve(in Instance, others []Instance) Claims {
	c := Claims{Lost: map[string]Key{}}
	reported := in.addresses()
	for _, other := range others {
		if other.Key == in.Key {
			continue
		}
		left := make([]string, 0, len(other.Locations))
		for _, l := range other.Locations {
			switch {
			case !slices.Contains(reported, l):
				left = append(left, l)
			case later(other, in):
				c.Lost[l] = other.Key
				left = append(left, l)
			}
		}
		if len(left) < len(other.Locations) {
			other.Locations = left
			c.Losers = append(c.Losers, other)
		}
	}
	for _, l := range reported {
		if _, lost := c.Lost[l]; !lost {
			c.Kept = append(c.Kept, l)
		}
	}
	return c
}

// later orders claims; the id decides between equal times so that all replicas decide alike.
func later(a, b Instance) bool {
	if !a.Claimed.Equal(b.Claimed) {
		return a.Claimed.After(b.Claimed)
	}
	return a.ID > b.ID
}

// afterAll returns a time for a new claim that is later than the claims of all who hold one of its addresses, however far
// the clocks of other replicas are ahead.
func afterAll(in Instance, others []Instance) time.Time {
	at := in.Claimed
	for _, other := range others {
		if other.Key != in.Key && overlap(other.Locations, in.addresses()) && !other.Claimed.Before(at) {
			at = other.Claimed.Add(time.Microsecond)
		}
	}
	return at
}

// identify returns the key under which a registration is kept. That is its own id, except where two processes use one
// id: when an instance moved from A to B and, within a lease, A reports again as if nothing had happened, A and B are two.
// The one that came back gets a key with its address in it and keeps that as long as it beats. A process that really
// moved never reports its old address again, so it stays one instance (S3, S4).
func identify(in Instance, stored func(Key) (Instance, bool), now time.Time, lease time.Duration) (Key, Instance, bool) {
	addresses := in.addresses()
	own := Key{App: in.App, ID: in.ID}
	apart := Key{App: in.App, ID: in.ID + "@" + keyOf(addresses[0])}
	if old, ok := stored(apart); ok {
		return apart, old, true
	}
	old, ok := stored(own)
	if ok && old.Moved != nil && now.Sub(old.Moved.At) < lease &&
		sameSet(old.Moved.From, addresses) && !overlap(old.addresses(), addresses) {
		return apart, Instance{}, false
	}
	return own, old, ok
}

// keyOf is a location without the characters that would split a path: ids are path segments of the API.
func keyOf(location string) string {
	_, rest, _ := strings.Cut(location, "://")
	return strings.ReplaceAll(rest, "/", "_")
}

// Same reports whether two descriptions of an instance say the same. Times, revisions and the address that a registration
// happened to come from are no part of it.
func Same(a, b Instance) bool {
	return a.Key == b.Key && a.NodeName == b.NodeName && a.Origin == b.Origin && a.Status == b.Status &&
		a.Override == b.Override && a.Lease == b.Lease && a.Unconfirmed == b.Unconfirmed &&
		sameSet(a.Locations, b.Locations) && sameDetail(a.Node, b.Node)
}

func sameDetail(a, b *NodeDetail) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Version == b.Version && a.Token == b.Token && a.Shared == b.Shared && sameSet(a.Addresses, b.Addresses) &&
		slices.Equal(a.Modules, b.Modules) && slices.Equal(a.Erupts, b.Erupts) &&
		maps.EqualFunc(a.Resources, b.Resources, slices.Equal[[]string]) &&
		maps.EqualFunc(a.Extra, b.Extra, slices.Equal)
}

// addresses are what the instance reported, whoever has them now.
func (in Instance) addresses() []string {
	if in.Node != nil {
		return in.Node.Addresses
	}
	return in.Locations
}

// Draining reports whether the instance has said goodbye and only finishes what it accepted.
func (in Instance) Draining() bool { return in.Status == OutOfService }

// sameSet compares short lists without repeats, in any order.
func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// without returns a minus b as a new slice.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// tidied returns in with everything that has no order sorted, so that the same words in another order are no change.
func tidied(in Instance) Instance {
	in.App = strings.ToUpper(in.App)
	detail := NodeDetail{}
	if in.Node != nil {
		detail = *in.Node
	}
	if detail.Addresses == nil {
		detail.Addresses = in.Locations
	}
	detail.Addresses = unique(detail.Addresses)
	detail.Modules, detail.Erupts = sorted(detail.Modules), sorted(detail.Erupts)
	if detail.Resources != nil {
		resources := make(map[string][]string, len(detail.Resources))
		for name, list := range detail.Resources {
			resources[name] = sorted(list)
		}
		detail.Resources = resources
	}
	in.Locations, in.Node, in.Origin = detail.Addresses, &detail, OriginNode
	return in
}

// sorted keeps nil apart from empty: node entries write the one as null.
func sorted(list []string) []string {
	if list == nil {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
