package history

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/loop"
	"eruptcloud/ent"
	"eruptcloud/ent/nodeevent"
)

// How many events are kept: the newest of each node, and the newest of all. The newest OfEach of a node are kept although there are
// more in all, up to three times InAll.
const (
	PerNode = 200
	InAll   = 20_000
	OfEach  = 20
)

const (
	queueLength = 4096
	batchLength = 200
)

// Options of a History. DB has no default.
type Options struct {
	DB  *database.DB
	Now func() time.Time
	// PerNode, InAll and OfEach are the bounds; zero: the constants of these names.
	PerNode, InAll, OfEach int
}

// History keeps events. Recording never waits: a queue takes events, Run writes them in batches and deletes the oldest beyond
// the bounds; what does not fit the queue is counted, said and lost.
type History struct {
	db      *database.DB
	now     func() time.Time
	perNode int
	inAll   int
	ofEach  int
	settled int // how many there were after the last look at all of them, which finds nothing sooner
	queue   chan Event
	lost    atomic.Int64
	grace   time.Duration // for what is queued when Run ends
	pause   time.Duration // before writing is tried again
}

// New returns a History that writes nothing before Run.
func New(o Options) *History {
	h := &History{
		db: o.DB, now: o.Now, perNode: o.PerNode, inAll: o.InAll, ofEach: o.OfEach, queue: make(chan Event, queueLength),
		grace: 3 * time.Second, pause: 2 * time.Second,
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.perNode <= 0 {
		h.perNode = PerNode
	}
	if h.inAll <= 0 {
		h.inAll = InAll
	}
	if h.ofEach <= 0 {
		h.ofEach = OfEach
	}
	return h
}

// Record queues an event; a zero time becomes now. An event of no node is dropped.
func (h *History) Record(e Event) {
	if e.Node == "" {
		return
	}
	if e.At.IsZero() {
		e.At = h.now()
	}
	select {
	case h.queue <- e:
	default:
		h.lost.Add(1)
	}
}

// Run writes what is recorded until ctx ends, and then what is queued, for at most three seconds.
func (h *History) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			h.finish()
			return nil
		case e := <-h.queue:
			batch := h.gather(e)
			for !h.tryWrite(ctx, batch) {
				select {
				case <-ctx.Done():
					h.finish(batch...)
					return nil
				case <-time.After(h.pause):
				}
			}
			h.sayLost(0)
		}
	}
}

// gather adds to first what waits besides.
func (h *History) gather(first ...Event) []Event {
	batch := first
	for len(batch) < batchLength {
		select {
		case e := <-h.queue:
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

// finish writes the rest. It has its own deadline because the context of Run is over.
func (h *History) finish(rest ...Event) {
	ctx, cancel := context.WithTimeout(context.Background(), h.grace)
	defer cancel()
	for batch := h.gather(rest...); len(batch) > 0; batch = h.gather() {
		if !h.tryWrite(ctx, batch) {
			h.sayLost(len(batch) + len(h.queue))
			return
		}
	}
	h.sayLost(0)
}

func (h *History) sayLost(more int) {
	if lost := h.lost.Swap(0) + int64(more); lost > 0 {
		slog.Warn("events of the nodes' history are lost: the database does not take them", "events", lost)
	}
}

// tryWrite writes a batch and reports false if it should be tried again. What the database refuses for its own sake is given
// up, so that it does not hold up everything else.
func (h *History) tryWrite(ctx context.Context, batch []Event) (done bool) {
	loop.Once(ctx, "history", func(ctx context.Context) error {
		err := h.write(ctx, batch)
		if err == nil {
			done = true
			return h.prune(ctx, batch)
		}
		err = database.Mapped(err, nil, nil)
		done = !fault.Is(err, fault.Unavailable) && ctx.Err() == nil
		if done {
			h.lost.Add(int64(len(batch)))
		}
		return err
	})
	return done
}

func (h *History) write(ctx context.Context, batch []Event) error {
	return h.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		rows := make([]*ent.NodeEventCreate, len(batch))
		for i, e := range batch {
			rows[i] = tx.NodeEvent.Create().SetAt(e.At.UTC().Truncate(time.Microsecond)).SetNodeName(fit(e.Node, 255)).
				SetInstanceID(fit(e.Instance, 255)).SetLocation(fit(e.Location, 255)).SetKind(fit(string(e.Kind), 64)).
				SetReason(fit(e.Reason, 2000)).SetAccount(fit(e.Account, 255)).SetVersion(fit(e.Version, 64))
		}
		return tx.NodeEvent.CreateBulk(rows...).Exec(ctx)
	})
}

// prune deletes what is beyond the bounds: of the nodes that have new events, and of all.
func (h *History) prune(ctx context.Context, batch []Event) error {
	pruned := map[string]bool{}
	for _, e := range batch {
		if name := fit(e.Node, 255); !pruned[name] {
			pruned[name] = true
			if err := h.pruneNode(ctx, name); err != nil {
				return err
			}
		}
	}
	return h.pruneAll(ctx)
}

// pruneAll deletes the oldest events beyond the bound of all, but for the newest of each node. It looks at all events, and so not
// before a tenth more than the last time has come together.
func (h *History) pruneAll(ctx context.Context) error {
	total, err := h.db.Client.NodeEvent.Query().Count(ctx)
	if err != nil || total <= max(h.inAll, min(h.settled, total))+h.inAll/10 {
		return err
	}
	rows, err := h.db.Client.NodeEvent.Query().Select(nodeevent.FieldID, nodeevent.FieldNodeName).Order(nodeevent.ByID(desc)).All(ctx)
	if err != nil {
		return err
	}
	gone := h.tooMany(rows)
	h.settled = len(rows) - len(gone)
	for ids := range slices.Chunk(gone, batchLength) {
		if _, err := h.db.Client.NodeEvent.Delete().Where(nodeevent.IDIn(ids...)).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tooMany are the ids of what has to go, the oldest first. rows are all events, the newest first.
func (h *History) tooMany(rows []*ent.NodeEvent) (gone []int64) {
	newest, spare := map[string]int{}, make([]bool, len(rows))
	for i, r := range rows {
		if newest[r.NodeName] < h.ofEach {
			newest[r.NodeName]++
			spare[i] = true
		}
	}
	left := len(rows)
	for _, mercy := range []bool{true, false} {
		bound := h.inAll
		if !mercy {
			bound = 3 * h.inAll // names may be many, too
		}
		for i := len(rows) - 1; i >= 0 && left > bound; i-- {
			if rows[i] != nil && (!mercy || !spare[i]) {
				gone = append(gone, rows[i].ID)
				rows[i] = nil
				left--
			}
		}
	}
	return gone
}

func (h *History) pruneNode(ctx context.Context, name string) error {
	oldest, err := h.beyond(ctx, h.db.Client.NodeEvent.Query().Where(nodeevent.NodeName(name)), h.perNode)
	if err != nil || oldest == 0 {
		return err
	}
	_, err = h.db.Client.NodeEvent.Delete().Where(nodeevent.NodeName(name), nodeevent.IDLTE(oldest)).Exec(ctx)
	return err
}

// beyond returns the id of the newest event that is one too many, zero if there is none.
func (h *History) beyond(ctx context.Context, q *ent.NodeEventQuery, keep int) (int64, error) {
	ids, err := q.Order(nodeevent.ByID(desc)).Offset(keep).Limit(1).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// fit makes a text of a node or a person fit its column: valid, on one line where it could mislead, and not too long.
func fit(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}
