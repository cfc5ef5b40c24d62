package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect/sql"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"eruptcloud/app/cluster"
	"eruptcloud/app/database"
	"eruptcloud/app/loop"
	"eruptcloud/ent"
)

// Topic is the bus topic of changes; each message is a change as JSON.
const Topic = "fleet"

// Options are what a Fleet needs. DB alone has no default.
type Options struct {
	DB            *database.DB
	Bus           cluster.Bus // nil: nobody else is told, and others are heard of after CacheTTL
	Sealer        Sealer      // nil: access tokens are stored plain
	ValidateToken bool        // false: Authenticate accepts any token
	CacheTTL      time.Duration
	Now           func() time.Time
	Grace         time.Duration // how long a rotated token stays valid
}

// Fleet keeps profiles, groups, configs, holds and drains in the database, and a copy in memory that follows it.
type Fleet struct {
	Nodes  *Nodes
	Groups *Groups
	Holds  *Holds
	Drains *Drains

	db       *database.DB
	bus      cluster.Bus
	sealer   Sealer
	validate bool
	ttl      time.Duration
	grace    time.Duration
	clock    func() time.Time

	snapshot  atomic.Pointer[snapshot]
	loading   chan struct{} // full while somebody brings the snapshot up to date
	refreshed atomic.Int64  // last full read, Unix time in nanoseconds
	misses    *misses
	lookups   *rate.Limiter // of names that no snapshot knows

	listening sync.Mutex
	listeners []func(kind, id string)
	self      string // marks our own messages on the bus
}

// Nodes are the profiles.
type Nodes struct{ *Fleet }

// Groups are the group tree.
type Groups struct{ *Fleet }

// Holds are the orders to keep a location out of routing.
type Holds struct{ *Fleet }

// Drains are the orders to take one instance out of routing until it has left.
type Drains struct{ *Fleet }

// New returns a Fleet with an empty memory: Load or the first question fills it, Run keeps it up to date.
func New(o Options) *Fleet {
	f := &Fleet{
		db: o.DB, bus: o.Bus, sealer: o.Sealer, validate: o.ValidateToken, ttl: o.CacheTTL, grace: o.Grace, clock: o.Now,
		loading: make(chan struct{}, 1),
		// A beat of an unknown node costs a query; a flood of made-up names must not cost the database.
		lookups: rate.NewLimiter(50, 200),
		self:    rand.Text(),
	}
	if f.sealer == nil {
		f.sealer = plainSealer{}
	}
	if f.ttl <= 0 {
		f.ttl = 30 * time.Second
	}
	if f.grace <= 0 {
		f.grace = 24 * time.Hour
	}
	if f.clock == nil {
		f.clock = time.Now
	}
	f.misses = newMisses(missTTL, f.clock)
	f.Nodes, f.Groups, f.Holds, f.Drains = &Nodes{f}, &Groups{f}, &Holds{f}, &Drains{f}
	return f
}

// now is the moment of a write, in the precision that both databases keep.
func (f *Fleet) now() time.Time { return f.clock().UTC().Truncate(time.Microsecond) }

// Load fills the memory.
func (f *Fleet) Load(ctx context.Context) error { return f.refresh(ctx, 0) }

// Run follows the changes of other replicas until ctx ends: their messages, and every CacheTTL whatever no message told.
func (f *Fleet) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return loop.Every(ctx, "fleet-cache", f.ttl, f.ttl, f.Load)
	})
	if f.bus != nil {
		group.Go(func() error {
			return f.bus.Subscribe(ctx, Topic, func(msg []byte) { f.hear(ctx, msg) })
		})
	}
	return group.Wait()
}

// Listen adds somebody who hears of every change, whoever made it, once the memory has it. kind is node, group, hold or
// drain, id the node's name or the group's code. Listeners must be quick.
func (f *Fleet) Listen(heard func(kind, id string)) {
	f.listening.Lock()
	defer f.listening.Unlock()
	f.listeners = append(f.listeners, heard)
}

func (f *Fleet) tell(changes []change) {
	f.listening.Lock()
	listeners := f.listeners
	f.listening.Unlock()
	for _, c := range changes {
		for _, heard := range listeners {
			heard(c.Kind, c.ID)
		}
	}
}

// change is a message on the bus.
type change struct {
	Kind string `json:"kind"`           // node, group, hold or drain
	ID   string `json:"id"`             // name of the node, code of the group
	From string `json:"from,omitempty"` // the Fleet that sent it
}

// The kinds of a change.
const (
	kindNode  = "node"
	kindGroup = "group"
	kindHold  = "hold"
	kindDrain = "drain"
)

// hear brings the memory up to date after a message of another replica.
func (f *Fleet) hear(ctx context.Context, msg []byte) {
	var c change
	err := json.Unmarshal(msg, &c)
	if err == nil && c.From == f.self {
		return // our own, known before it was sent
	}
	if err != nil { // also nil: messages were lost
		err = f.Load(ctx)
	} else {
		err = f.reload(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "fleet: cannot follow a change; the next refresh will", "kind", c.Kind, "id", c.ID, "error", err)
	}
}

// afterWrite is called when a write was committed: the memory follows, then the others are told. The write has happened, so
// neither the end of ctx nor a failure here changes the answer; the refresh makes up for what is missed. It reports whether the
// memory has followed.
func (f *Fleet) afterWrite(ctx context.Context, kind, id string) (followed bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	c := change{Kind: kind, ID: id, From: f.self}
	err := f.reload(ctx, c)
	if followed = err == nil; !followed {
		slog.WarnContext(ctx, "fleet: cannot read back a change; the next refresh will", "kind", kind, "id", id, "error", err)
	}
	if f.bus == nil {
		return followed
	}
	msg, err := json.Marshal(c)
	if err == nil {
		err = f.bus.Publish(ctx, Topic, msg)
	}
	if err != nil {
		slog.WarnContext(ctx, "fleet: cannot tell other replicas of a change; their next refresh will", "kind", kind, "id", id, "error", err)
	}
	return followed
}

// lockedQuery is an ent query that can lock what it reads.
type lockedQuery[Q any] interface{ ForUpdate(...sql.LockOption) Q }

// forUpdate locks the rows that a decision in a transaction rests on, where the database needs to be told.
func forUpdate[Q lockedQuery[Q]](db *database.DB, q Q) Q {
	if db.RowLocks() {
		return q.ForUpdate()
	}
	return q
}

var _ lockedQuery[*ent.NodeQuery] = (*ent.NodeQuery)(nil)
