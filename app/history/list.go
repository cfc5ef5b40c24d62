package history

import (
	"context"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/ent/nodeevent"
	"eruptcloud/ent/predicate"
)

var desc = sql.OrderDesc()

const (
	defaultPage = 20
	maxPage     = 500
)

// List returns one page of the events that f chooses, the newest first, and how many it chooses in all. A page is 20 events
// unless f says so, and at most 500.
func (h *History) List(ctx context.Context, f Filter) ([]Event, int, error) {
	if f.Nodes != nil && len(f.Nodes) == 0 {
		return nil, 0, nil
	}
	q := h.db.Client.NodeEvent.Query().Where(f.where()...)
	total, err := q.Clone().Count(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	size := f.PageSize
	if size <= 0 {
		size = defaultPage
	}
	size = min(size, maxPage)
	rows, err := q.Order(nodeevent.ByID(desc)).Offset((max(f.Page, 1) - 1) * size).Limit(size).All(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	out := make([]Event, len(rows))
	for i, r := range rows {
		out[i] = Event{
			ID: r.ID, At: r.At.UTC(), Node: r.NodeName, Instance: r.InstanceID, Location: r.Location, Kind: Kind(r.Kind),
			Reason: r.Reason, Account: r.Account, Version: r.Version,
		}
	}
	return out, total, nil
}

func (f Filter) where() []predicate.NodeEvent {
	var where []predicate.NodeEvent
	add := func(wanted bool, p predicate.NodeEvent) {
		if wanted {
			where = append(where, p)
		}
	}
	kinds := make([]string, len(f.Kinds))
	for i, k := range f.Kinds {
		kinds[i] = string(k)
	}
	add(f.Node != "", nodeevent.NodeName(f.Node))
	add(f.Nodes != nil, nodeevent.NodeNameIn(f.Nodes...))
	add(f.Instance != "", nodeevent.InstanceID(f.Instance))
	add(len(kinds) > 0, nodeevent.KindIn(kinds...))
	add(f.Before > 0, nodeevent.IDLT(f.Before))
	add(!f.From.IsZero(), nodeevent.AtGTE(f.From))
	add(!f.To.IsZero(), nodeevent.AtLT(f.To))
	add(f.Query != "", nodeevent.Or(nodeevent.NodeNameContainsFold(f.Query), nodeevent.InstanceIDContainsFold(f.Query),
		nodeevent.LocationContainsFold(f.Query), nodeevent.ReasonContainsFold(f.Query), nodeevent.AccountContainsFold(f.Query)))
	return where
}
