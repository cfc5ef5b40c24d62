package boot

import (
	"context"
	"slices"
	"sync"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
)

// chronicler writes what happens to instances into the history. Every replica hears of everything and remembers the last
// minutes; the leader alone writes, and one that begins to lead makes up for what its predecessor left out.
type chronicler struct {
	history  chronicle
	now      func() time.Time
	mu       sync.Mutex
	known    map[registry.Key]lastKnown
	recent   []history.Event // of the last minutes, oldest first
	leads    bool
	written  map[eventKey]bool // those of the last minutes that are in the history, while this replica leads
	cleanest time.Time         // when written was begun
}

// chronicle keeps events (history.History).
type chronicle interface {
	Record(e history.Event)
	List(ctx context.Context, f history.Filter) ([]history.Event, int, error)
}

// lastKnown is what a later change is compared with.
type lastKnown struct {
	version   string
	locations []string
	draining  bool
	left      string // why it was removed before, as a reason of its return
}

type eventKey struct {
	node, instance string
	kind           history.Kind
	at             int64 // µs
}

const (
	chronicleWindow = 3 * time.Minute
	maxRecent       = 2000
)

// Reasons that the history gives, as formats of messages.
const (
	cameBack         = "it beats again after it was removed"
	changedVersion   = "it reports another version"
	changedAddresses = "it reports other addresses"
	announced        = "the instance announced it"
	replacedBy       = "a newer instance reports its address"
	sharesAddress    = "another instance of the node reports its address"
)

func newChronicler(h chronicle, now func() time.Time) *chronicler {
	return &chronicler{history: h, now: now, known: map[registry.Key]lastKnown{}}
}

// hear is a listener of the registry.
func (c *chronicler) hear(changes []registry.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range changes {
		if e, ok := c.eventOf(change); ok {
			c.keep(e)
		}
	}
}

// keep remembers an event, and writes it if this replica leads.
func (c *chronicler) keep(e history.Event) {
	from := c.now().Add(-chronicleWindow)
	fresh := slices.IndexFunc(c.recent, func(old history.Event) bool { return old.At.After(from) })
	if fresh < 0 {
		fresh = len(c.recent)
	}
	c.recent = append(c.recent[max(fresh, len(c.recent)-maxRecent+1):], e)
	if c.leads {
		c.write(e)
	}
}

func (c *chronicler) write(e history.Event) {
	if now := c.now(); now.Sub(c.cleanest) > chronicleWindow {
		c.written, c.cleanest = map[eventKey]bool{}, now
	}
	if key := keyOfEvent(e); !c.written[key] {
		c.written[key] = true
		c.history.Record(e)
	}
}

func keyOfEvent(e history.Event) eventKey {
	return eventKey{e.Node, e.Instance, e.Kind, e.At.UnixMicro()}
}

// lead writes until ctx ends. On one replica only: the server runs it as the leader.
func (c *chronicler) lead(ctx context.Context) error {
	written, _, err := c.history.List(ctx, history.Filter{From: c.now().Add(-2 * chronicleWindow), PageSize: 500})
	if err != nil && ctx.Err() == nil {
		written = nil // better twice in the history than not at all
	}
	c.mu.Lock()
	c.written, c.cleanest, c.leads = make(map[eventKey]bool, len(written)), c.now(), true
	for _, e := range written {
		c.written[keyOfEvent(e)] = true
	}
	for _, e := range c.recent {
		c.write(e)
	}
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.leads = false
	c.mu.Unlock()
	return nil
}

// eventOf says what a change was, and remembers the instance for the next one.
func (c *chronicler) eventOf(change registry.Change) (history.Event, bool) {
	in := change.In
	if in.Origin != registry.OriginNode || in.NodeName == "" {
		return history.Event{}, false
	}
	was, had := c.known[in.Key]
	e := history.Event{At: change.At, Node: in.NodeName, Instance: in.ID, Version: versionOf(in)}
	if len(in.Locations) > 0 {
		e.Location = in.Locations[0]
	}
	if change.Action == registry.Deleted {
		return c.departure(e, change, had)
	}
	is := lastKnown{version: e.Version, locations: in.Locations, draining: in.Draining()}
	c.known[in.Key] = is
	switch {
	case change.Action == registry.Added || !had || was.left != "":
		// A snapshot shows as new what has been there for long.
		if in.Unconfirmed || change.At.Sub(in.Registered) > time.Minute {
			return e, false
		}
		e.At, e.Kind, e.Reason = in.Registered, history.Registered, was.left
	case is.draining && !was.draining:
		e.Kind, e.Reason = history.Drained, announced
	case is.version != was.version:
		e.Kind, e.Reason = history.Changed, changedVersion
	case !slices.Equal(is.locations, was.locations):
		e.Kind, e.Reason = history.Changed, changedAddresses
	default:
		return e, false
	}
	return e, true
}

// departure is the event of a removal. What an admin removes is recorded by whoever carries it out, with his name.
func (c *chronicler) departure(e history.Event, change registry.Change, had bool) (history.Event, bool) {
	delete(c.known, change.In.Key)
	if !had {
		return e, false
	}
	switch change.Reason {
	case registry.Expiry:
		e.Kind = history.Expired
	case registry.Patrol, registry.Failover:
		e.Kind = history.Unreached
	case registry.Replaced:
		e.Kind, e.Reason = history.Left, replacedBy
	case registry.Admin:
	default:
		e.Kind = history.Left
	}
	if change.Reason == registry.Admin || e.Kind == history.Unreached {
		c.remember(change.In.Key)
	}
	return e, e.Kind != ""
}

// maxDeparted bounds the memory for those who may come back.
const maxDeparted = 10_000

func (c *chronicler) remember(k registry.Key) {
	if len(c.known) >= maxDeparted {
		for other, was := range c.known {
			if was.left != "" {
				delete(c.known, other)
			}
		}
	}
	c.known[k] = lastKnown{left: cameBack}
}

func versionOf(in registry.Instance) string {
	if in.Node == nil {
		return ""
	}
	return in.Node.Version
}

// conflict records that two processes report one address. The replica that refuses the beat alone knows it.
func (c *chronicler) conflict(k registry.Conflict) {
	c.history.Record(history.Event{
		At: k.At, Node: k.NodeName, Instance: k.ID, Location: k.Location, Kind: history.Conflict, Reason: sharesAddress,
	})
}

// refused records that a node shows a wrong token, or is disabled. What calls itself by a name that does not exist is nobody's
// history.
func (c *chronicler) refused(r fleet.Refusal) {
	if r.Reason == fleet.NoSuchNode {
		return
	}
	c.history.Record(history.Event{At: r.Since, Node: r.Node, Location: r.Address, Kind: history.Refused, Reason: r.Reason})
}
