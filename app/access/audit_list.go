package access

import (
	"context"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/operateextra"
	"eruptcloud/ent/operatelog"
	"eruptcloud/ent/predicate"
)

// AuditFilter selects entries; empty fields select all.
type AuditFilter struct {
	Query string // part of action, user, account, subject, URL or error, in any case
	// Actions that Query means besides, because they are shown under other words: whole codes, those of pages without what
	// follows the bar.
	Words          []string
	Action         string // whole code, as in Words
	Outcome        string // "ok", "failed" or empty
	Account        string
	Subject        string
	From, To       time.Time // from From on, before To
	Page, PageSize int       // from 1; 20 a page unless said, 500 at most
}

// List returns one page of entries, newest first, and how many there are in all. Entries that a Java server wrote have
// neither account nor subject. It counts all that the filter selects; Search does not.
func (a *Audit) List(ctx context.Context, f AuditFilter) ([]Entry, int, error) {
	where := f.where()
	if f.Account != "" {
		where = append(where, withExtra(operateextra.FieldAccount, f.Account))
	}
	if f.Subject != "" {
		where = append(where, withExtra(operateextra.FieldSubject, f.Subject))
	}
	q := a.db.Client.OperateLog.Query().Where(where...)
	total, err := q.Clone().Count(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	offset, limit := pageOf(f.Page, f.PageSize)
	rows, err := q.Order(newestFirst...).Offset(offset).Limit(limit).All(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	found, err := a.entries(ctx, rows)
	return found, total, err
}

// ByID returns an entry. fault.NotFound if there is none.
func (a *Audit) ByID(ctx context.Context, id int64) (Entry, error) {
	row, err := a.db.Client.OperateLog.Get(ctx, id)
	if err != nil {
		return Entry{}, database.Mapped(err, fault.New(fault.NotFound, "the operation log has no entry %d", id), nil)
	}
	found, err := a.entries(ctx, []*ent.OperateLog{row})
	if err != nil {
		return Entry{}, err
	}
	return found[0], nil
}

var newestFirst = []operatelog.OrderOption{operatelog.ByCreateTime(sql.OrderDesc()), operatelog.ByID(sql.OrderDesc())}

// entries joins rows with what erupt's table lacks.
func (a *Audit) entries(ctx context.Context, rows []*ent.OperateLog) ([]Entry, error) {
	ids := make([]int64, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	extras, err := a.db.Client.OperateExtra.Query().Where(operateextra.LogIDIn(ids...)).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	extra := make(map[int64]*ent.OperateExtra, len(extras))
	for _, x := range extras {
		extra[x.LogID] = x
	}
	found := make([]Entry, 0, len(rows))
	for _, r := range rows {
		found = append(found, entryOf(r, extra[r.ID]))
	}
	return found, nil
}

// where selects by all but account and subject, which stand in the other table.
func (f AuditFilter) where() []predicate.OperateLog {
	var where []predicate.OperateLog
	if f.Query != "" {
		any := []predicate.OperateLog{operatelog.APINameContainsFold(f.Query), operatelog.OperateUserContainsFold(f.Query),
			operatelog.ReqAddrContainsFold(f.Query), operatelog.ErrorInfoContainsFold(f.Query), extraContains(f.Query)}
		for _, w := range f.Words {
			any = append(any, isAction(w))
		}
		where = append(where, operatelog.Or(any...))
	}
	if f.Action != "" {
		where = append(where, isAction(f.Action))
	}
	switch f.Outcome {
	case "ok":
		where = append(where, operatelog.Status(dbtype.Flag(true)))
	case "failed":
		where = append(where, operatelog.Or(operatelog.Status(dbtype.Flag(false)), operatelog.StatusIsNil()))
	}
	if !f.From.IsZero() {
		where = append(where, operatelog.CreateTimeGTE(f.From))
	}
	if !f.To.IsZero() {
		where = append(where, operatelog.CreateTimeLT(f.To))
	}
	return where
}

// isAction selects one kind of action; those at nodes' pages name the page after a bar.
func isAction(code string) predicate.OperateLog {
	return operatelog.Or(operatelog.APIName(code), operatelog.APINameHasPrefix(code+" | "))
}

// withExtra selects rows whose side row has a value in column.
func withExtra(column, value string) predicate.OperateLog {
	return func(s *sql.Selector) {
		x := sql.Table(operateextra.Table)
		s.Where(sql.In(s.C(operatelog.FieldID), sql.Select(x.C(operateextra.FieldLogID)).From(x).Where(sql.EQ(x.C(column), value))))
	}
}

// extraContains selects rows whose side row names text as account or subject, or has it as its request id. It is asked row by row,
// by the index of the side table.
func extraContains(text string) predicate.OperateLog {
	return func(s *sql.Selector) {
		x := sql.Table(operateextra.Table)
		s.Where(sql.Exists(sql.Dialect(s.Dialect()).Select(x.C(operateextra.FieldID)).From(x).Where(sql.And(
			sql.ColumnsEQ(x.C(operateextra.FieldLogID), s.C(operatelog.FieldID)),
			sql.Or(sql.ContainsFold(x.C(operateextra.FieldAccount), text), sql.ContainsFold(x.C(operateextra.FieldSubject), text),
				sql.EQ(x.C(operateextra.FieldRequestID), text)),
		))))
	}
}

func entryOf(r *ent.OperateLog, x *ent.OperateExtra) Entry {
	e := Entry{
		ID: r.ID, At: orZero(r.CreateTime), User: r.OperateUser, Address: r.IP, Action: r.APIName, Method: r.ReqMethod, URL: r.ReqAddr,
		OK: bool(r.Status), Error: r.ErrorInfo, Took: time.Duration(r.TotalTime) * time.Millisecond, Params: paramsOf(r.ReqParam),
		Before: paramsOf(r.BeforeData),
	}
	if x == nil { // written by a Java server, which masks nothing
		e.URL, e.Params, e.Before = maskURL(r.ReqAddr), foreignParams(r.ReqParam), foreignParams(r.BeforeData)
	} else {
		e.Account, e.Subject, e.RequestID = x.Account, x.Subject, x.RequestID
	}
	return e
}

// ActionCode is an action without what follows the bar: "UPDATE | shop.Customer" is "UPDATE".
func ActionCode(action string) string {
	code, _, _ := strings.Cut(action, " | ")
	return code
}
