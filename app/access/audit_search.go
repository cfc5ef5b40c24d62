package access

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/operateextra"
	"eruptcloud/ent/operatelog"
	"eruptcloud/ent/predicate"
)

// AuditPage is a piece of the trail, newest first.
type AuditPage struct {
	Entries []Entry
	// Older is where the next page begins; empty: there is none.
	Older string
	// Until is how far a search looked that did not fill its page; zero: as far as there is something.
	Until time.Time
}

// Bounds of one search. A rare text among a million entries must not keep the database busy for every look at the page: the
// search ends, says how far it came, and goes on from there when asked.
const (
	searchRows  = 30_000 // looked at for text, action or outcome
	searchExtra = 20_000 // looked at for those of an account or subject
	searchBatch = 500    // of the latter, at once
)

// Search returns one page of entries from a place in the trail on; from is AuditPage.Older of the page before, empty for the
// newest. It counts nothing and skips nothing, so the hundredth page takes as long as the first. fault.Invalid for a place that
// is none.
func (a *Audit) Search(ctx context.Context, f AuditFilter, from string) (AuditPage, error) {
	at, err := parseSpot(from)
	if err != nil {
		return AuditPage{}, err
	}
	if f.Account != "" || f.Subject != "" {
		return a.searchExtra(ctx, f, at)
	}
	return a.searchLog(ctx, f, at)
}

// Each returns all entries of a filter, newest first, in batches as they are pulled.
func (a *Audit) Each(ctx context.Context, f AuditFilter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f.PageSize = largestPage
		for from, first := "", true; first || from != ""; first = false {
			page, err := a.Search(ctx, f, from)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			from = page.Older
		}
	}
}

// searchLog goes down the index of times.
func (a *Audit) searchLog(ctx context.Context, f AuditFilter, at spot) (AuditPage, error) {
	_, limit := pageOf(1, f.PageSize)
	where := append(f.where(), at.before()...)
	var end *ent.OperateLog
	if f.Query != "" || f.Action != "" || f.Outcome != "" {
		var err error
		plain := AuditFilter{From: f.From, To: f.To}
		end, err = a.db.Client.OperateLog.Query().Where(append(plain.where(), at.before()...)...).Order(newestFirst...).
			Offset(a.rows-1).Select(operatelog.FieldID, operatelog.FieldCreateTime).First(ctx)
		switch {
		case err == nil:
			where = append(where, operatelog.CreateTimeGTE(orZero(end.CreateTime)))
		case !ent.IsNotFound(err):
			return AuditPage{}, database.Mapped(err, nil, nil)
		}
	}
	rows, err := a.db.Client.OperateLog.Query().Where(where...).Order(newestFirst...).Limit(limit + 1).All(ctx)
	if err != nil {
		return AuditPage{}, database.Mapped(err, nil, nil)
	}
	var page AuditPage
	switch {
	case len(rows) > limit:
		rows = rows[:limit]
		page.Older = spotOf(rows[limit-1]).String()
	case end != nil:
		page.Older, page.Until = spotOf(end).String(), orZero(end.CreateTime)
		if len(rows) > 0 && spotOf(rows[len(rows)-1]).under(spotOf(end)) { // entries of the same moment
			page.Older = spotOf(rows[len(rows)-1]).String()
		}
	}
	page.Entries, err = a.entries(ctx, rows)
	return page, err
}

// searchExtra goes down the index of accounts or subjects, which is in the order of writing.
func (a *Audit) searchExtra(ctx context.Context, f AuditFilter, at spot) (AuditPage, error) {
	_, limit := pageOf(1, f.PageSize)
	var page AuditPage
	for looked := 0; ; {
		where := []predicate.OperateExtra{}
		if f.Account != "" {
			where = append(where, operateextra.Account(f.Account))
		}
		if f.Subject != "" {
			where = append(where, operateextra.Subject(f.Subject))
		}
		if at.id != 0 {
			where = append(where, operateextra.IDLT(at.id))
		}
		extras, err := a.db.Client.OperateExtra.Query().Where(where...).Order(operateextra.ByID(sql.OrderDesc())).Limit(a.batch).All(ctx)
		if err != nil {
			return AuditPage{}, database.Mapped(err, nil, nil)
		}
		found, err := a.ofExtras(ctx, f, extras)
		if err != nil {
			return AuditPage{}, err
		}
		for _, x := range extras {
			e, ok := found[x.LogID]
			if !ok {
				continue
			}
			if len(page.Entries) == limit {
				page.Older = at.String()
				return page, nil
			}
			page.Entries = append(page.Entries, e)
			at = spot{id: x.ID}
		}
		if len(extras) < a.batch {
			return page, nil
		}
		at = spot{id: extras[len(extras)-1].ID}
		if looked += len(extras); looked >= a.extras {
			page.Older = at.String()
			last, err := a.db.Client.OperateLog.Get(ctx, extras[len(extras)-1].LogID)
			if err == nil {
				page.Until = orZero(last.CreateTime)
			} else if !ent.IsNotFound(err) {
				return AuditPage{}, database.Mapped(err, nil, nil)
			}
			return page, nil
		}
	}
}

// ofExtras loads the entries of side rows that the rest of the filter selects, by the id of the log.
func (a *Audit) ofExtras(ctx context.Context, f AuditFilter, extras []*ent.OperateExtra) (map[int64]Entry, error) {
	ids, byLog := make([]int64, 0, len(extras)), make(map[int64]*ent.OperateExtra, len(extras))
	for _, x := range extras {
		ids, byLog[x.LogID] = append(ids, x.LogID), x
	}
	out := make(map[int64]Entry, len(extras))
	for chunk := range slices.Chunk(ids, a.batch) {
		rows, err := a.db.Client.OperateLog.Query().Where(append(f.where(), operatelog.IDIn(chunk...))...).All(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		for _, r := range rows {
			out[r.ID] = entryOf(r, byLog[r.ID])
		}
	}
	return out, nil
}

// spot is where a page ends: a moment and the id of an entry, or the id of a side row alone.
type spot struct {
	at time.Time
	id int64
}

func spotOf(r *ent.OperateLog) spot { return spot{orZero(r.CreateTime), r.ID} }

// under reports whether p comes after q in the order of the trail.
func (p spot) under(q spot) bool {
	return p.at.Before(q.at) || p.at.Equal(q.at) && p.id < q.id
}

// before selects what comes after p in the order of the trail.
func (p spot) before() []predicate.OperateLog {
	if p.id == 0 {
		return nil
	}
	return []predicate.OperateLog{operatelog.CreateTimeLTE(p.at), operatelog.Or(operatelog.CreateTimeLT(p.at), operatelog.IDLT(p.id))}
}

func (p spot) String() string {
	if p.at.IsZero() {
		return strconv.FormatInt(p.id, 10)
	}
	return fmt.Sprintf("%d-%d", p.at.UnixNano(), p.id)
}

func parseSpot(s string) (spot, error) {
	if s == "" {
		return spot{}, nil
	}
	moment, id, both := strings.Cut(s, "-")
	if !both {
		moment, id = "", s
	}
	p := spot{}
	n, err := strconv.ParseInt(id, 10, 64)
	p.id = n
	if err == nil && both {
		var nanos int64
		nanos, err = strconv.ParseInt(moment, 10, 64)
		p.at = time.Unix(0, nanos).UTC()
	}
	if err != nil || p.id <= 0 {
		return spot{}, fault.New(fault.Invalid, "from is no place in the operation log").Because(err)
	}
	return p, nil
}
