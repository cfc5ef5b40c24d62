package access

import (
	"context"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/ent"
	"eruptcloud/ent/loginlog"
	"eruptcloud/ent/predicate"
)

// LoginRecord is a login that succeeded, as the login log keeps it.
type LoginRecord struct {
	ID                       int64
	At                       time.Time
	User                     string // display name at that time
	Address                  string
	Browser, System, Machine string
}

// Logins returns one page of the login log from a place on, newest first, and where the next begins; see (*Audit).Search. query is
// part of a name or address and looks at as many of them at once as one search may.
func (a *Audit) Logins(ctx context.Context, query, from string, size int) (found []LoginRecord, older string, err error) {
	at, err := parseSpot(from)
	if err != nil {
		return nil, "", err
	}
	_, limit := pageOf(1, size)
	var where []predicate.LoginLog
	if at.id != 0 {
		where = append(where, loginlog.LoginTimeLTE(at.at), loginlog.Or(loginlog.LoginTimeLT(at.at), loginlog.IDLT(at.id)))
	}
	newest := []loginlog.OrderOption{loginlog.ByLoginTime(sql.OrderDesc()), loginlog.ByID(sql.OrderDesc())}
	var end *ent.LoginLog
	if query = strings.TrimSpace(query); query != "" {
		end, err = a.db.Client.LoginLog.Query().Where(where...).Order(newest...).Offset(a.rows - 1).First(ctx)
		switch {
		case err == nil:
			where = append(where, loginlog.LoginTimeGTE(orZero(end.LoginTime)))
		case !ent.IsNotFound(err):
			return nil, "", database.Mapped(err, nil, nil)
		}
		where = append(where, loginlog.Or(loginlog.UserNameContainsFold(query), loginlog.IPContains(query)))
	}
	rows, err := a.db.Client.LoginLog.Query().Where(where...).Order(newest...).Limit(limit + 1).All(ctx)
	if err != nil {
		return nil, "", database.Mapped(err, nil, nil)
	}
	switch {
	case len(rows) > limit:
		rows = rows[:limit]
		older = spot{orZero(rows[limit-1].LoginTime), rows[limit-1].ID}.String()
	case end != nil:
		older = spot{orZero(end.LoginTime), end.ID}.String()
	}
	for _, r := range rows {
		found = append(found, LoginRecord{
			ID: r.ID, At: orZero(r.LoginTime), User: r.UserName, Address: r.IP, Browser: r.Browser, System: r.SystemName, Machine: r.DeviceType,
		})
	}
	return found, older, nil
}

// NeverUsed reports whether nobody has ever logged in here.
func (a *Audit) NeverUsed(ctx context.Context) (bool, error) {
	used, err := a.db.Client.LoginLog.Query().Exist(ctx)
	return !used, database.Mapped(err, nil, nil)
}
