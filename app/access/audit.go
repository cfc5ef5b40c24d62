package access

import (
	"context"
	"log/slog"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/loop"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
)

// Audit keeps who did what. Recording never waits: a queue takes entries, Run writes them in batches, and what does not fit
// is counted and lost.
type Audit struct {
	db      *database.DB
	metrics *metrics
	now     func() time.Time
	queue   chan Entry
	grace   time.Duration // for what is queued when Run ends
	pause   time.Duration // before writing is tried again
	// Bounds of one search.
	rows, extras, batch int
}

const (
	auditQueue = 4096
	auditBatch = 100
)

func newAudit(db *database.DB, m *metrics, now func() time.Time) *Audit {
	return &Audit{
		db: db, metrics: m, now: now, queue: make(chan Entry, auditQueue), grace: 3 * time.Second, pause: 2 * time.Second,
		rows: searchRows, extras: searchExtra, batch: searchBatch,
	}
}

// Record queues an entry; a zero time becomes now. Its parameters are masked before they are written and must not be
// changed by the caller afterwards.
func (a *Audit) Record(e Entry) {
	if e.At.IsZero() {
		e.At = a.now()
	}
	select {
	case a.queue <- e:
	default:
		a.metrics.dropped.Inc()
	}
}

// Run writes what is recorded until ctx ends, and then what is queued, for at most three seconds. While the database is down
// the queue fills.
func (a *Audit) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return a.drain()
		case e := <-a.queue:
			batch := a.gather(e)
			for !a.tryWrite(ctx, batch) {
				select {
				case <-ctx.Done():
					return a.drain(batch...)
				case <-time.After(a.pause):
				}
			}
		}
	}
}

// gather adds to first what waits besides.
func (a *Audit) gather(first ...Entry) []Entry {
	batch := first
	for len(batch) < auditBatch {
		select {
		case e := <-a.queue:
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

// drain writes the rest. It has its own deadline because the context of Run is over.
func (a *Audit) drain(rest ...Entry) error {
	ctx, cancel := context.WithTimeout(context.Background(), a.grace)
	defer cancel()
	for batch := a.gather(rest...); len(batch) > 0; batch = a.gather() {
		for !a.tryWrite(ctx, batch) {
			select {
			case <-ctx.Done():
				lost := len(batch) + len(a.queue)
				a.metrics.dropped.Add(float64(lost))
				slog.Error("entries of the audit trail are lost: the database does not take them", "entries", lost)
				return nil
			case <-time.After(min(a.pause, a.grace/10)):
			}
		}
	}
	return nil
}

// tryWrite writes a batch and reports false if it should be tried again. An entry that the database refuses for its own sake
// is given up, so that it does not hold up all others.
func (a *Audit) tryWrite(ctx context.Context, batch []Entry) (done bool) {
	loop.Once(ctx, "audit", func(ctx context.Context) error {
		err := a.write(ctx, batch)
		switch {
		case err == nil:
			done = true
			return nil
		case fault.Is(err, fault.Unavailable) || ctx.Err() != nil:
			return err
		case len(batch) == 1:
			a.metrics.dropped.Inc()
			done = true
			return err
		}
		done = true
		for i := range batch {
			done = a.tryWrite(ctx, batch[i:i+1]) && done
		}
		return nil
	})
	return done
}

func (a *Audit) write(ctx context.Context, batch []Entry) error {
	return a.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		rows := make([]*ent.OperateLogCreate, 0, len(batch))
		for _, e := range batch {
			rows = append(rows, a.row(tx, e))
		}
		made, err := tx.OperateLog.CreateBulk(rows...).Save(ctx)
		if err != nil {
			return err
		}
		extras := make([]*ent.OperateExtraCreate, 0, len(batch))
		for i, e := range batch {
			extras = append(extras, tx.OperateExtra.Create().SetLogID(made[i].ID).SetAccount(shorten(e.Account, 255)).
				SetSubject(shorten(e.Subject, 255)).SetRequestID(shorten(e.RequestID, 64)))
		}
		return tx.OperateExtra.CreateBulk(extras...).Exec(ctx)
	})
}

// row fills erupt's columns, within their limits.
func (a *Audit) row(tx *ent.Tx, e Entry) *ent.OperateLogCreate {
	who := e.User
	if who == "" {
		who = e.Account
	}
	c := tx.OperateLog.Create().SetOperateUser(shorten(who, 255)).SetAPIName(shorten(e.Action, 255)).
		SetStatus(dbtype.Flag(e.OK)).SetTotalTime(e.Took.Milliseconds()).SetCreateTime(e.At)
	setText(shorten(e.Address, 255), c.SetIP)
	setText(shorten(e.Error, 4000), c.SetErrorInfo)
	setText(shorten(maskURL(e.URL), 2000), c.SetReqAddr)
	setText(shorten(e.Method, 64), c.SetReqMethod)
	setText(maskParams(e.Params), c.SetReqParam)
	setText(maskParams(e.Before), c.SetBeforeData)
	return c
}
