package console

import (
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/history"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// How many events a page shows, a card, and how far the count of new ones looks.
const (
	eventsPerPage = 50
	lastEvents    = 7
	maxNewEvents  = 100
	// maxExportEvents is no less than what is kept of a node.
	maxExportEvents = 200
)

// eventKinds are the kinds to filter by, in the order of the menu.
var eventKinds = []history.Kind{
	history.Registered, history.Changed, history.Left, history.Expired, history.Unreached, history.Removed, history.Held, history.Lifted,
	history.Drained, history.Undrained, history.Refused, history.Conflict, history.Rotated, history.GraceEnded, history.Published,
	history.Enabled, history.Disabled, history.Created, history.Deleted,
}

// eventJSON is an event in the JSON twin.
type eventJSON struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Instance string    `json:"instance,omitempty"`
	Location string    `json:"location,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Account  string    `json:"account,omitempty"`
	Version  string    `json:"version,omitempty"`
}

type eventsJSON struct {
	Events []eventJSON `json:"events"`
	Total  int         `json:"total"`
	Page   int         `json:"page"`
	Pages  int         `json:"pages"`
}

// nodeEvents handles GET /console/nodes/:node/events.
func (p *pages) nodeEvents(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabEvents)
	if err != nil {
		return err
	}
	if p.History == nil {
		return fault.New(fault.NotFound, "nothing is at this address")
	}
	m := views.NodeEvents{NodeHead: n.head, Query: views.ParseEventQuery(n.state.node.Name, c.Request.URL.Query())}
	m.Instance = m.Query.Instance
	f := eventFilter(m.Query)
	f.Page, f.PageSize = max(m.Query.Page, 1), eventsPerPage
	events, total, err := p.History.List(c.Request.Context(), f)
	if err != nil {
		return err
	}
	m.Pager = views.Paged(m.Query.Page, eventsPerPage, total, func(page, _ int) string { return m.Query.At(page).Path(views.TabEvents) })
	m.Pager.Sizes = nil
	if f.Page != m.Pager.Page { // past the end: the last page (U14)
		f.Page = m.Pager.Page
		if events, _, err = p.History.List(c.Request.Context(), f); err != nil {
			return err
		}
	}
	m.Query.Page, m.Rows = m.Pager.Page, eventRows(events)
	if len(events) > 0 {
		m.Newest = events[0].ID
	}
	for _, k := range eventKinds {
		kind := string(k)
		m.Kinds = append(m.Kinds, views.FilterChip{
			Kind: kind, Label: views.Sayf("event.kind." + kind), On: slices.Contains(m.Query.Kinds, kind), Path: m.Query.Toggled(kind).Path(views.TabEvents),
		})
	}
	twin := eventsJSON{Events: []eventJSON{}, Total: total, Page: m.Pager.Page, Pages: m.Pager.Pages}
	for _, e := range events {
		twin.Events = append(twin.Events, eventJSON{e.ID, e.At.UTC(), string(e.Kind), e.Instance, e.Location, e.Reason, e.Account, e.Version})
	}
	return web.Twin(c, twin, views.NodeEventsPage(m), views.EventsFragment, views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// newEvents handles GET /console/nodes/:node/events/new?after=ID: how many there are that the open list does not show.
func (p *pages) newEvents(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	if p.History == nil {
		return fault.New(fault.NotFound, "nothing is at this address")
	}
	after, err := strconv.ParseInt(c.Query("after"), 10, 64)
	if err != nil {
		return fault.New(fault.Invalid, "after must be a whole number").Because(err)
	}
	q := views.ParseEventQuery(node.Name, c.Request.URL.Query())
	q.Page = 0
	f := eventFilter(q)
	f.Page, f.PageSize = 1, maxNewEvents
	events, _, err := p.History.List(c.Request.Context(), f)
	if err != nil {
		return err
	}
	count := 0
	for _, e := range events {
		if e.ID > after {
			count++
		}
	}
	return web.Render(c, views.EventsNew(q, after, count), views.EventsNewFragment)
}

// exportEvents handles GET /console/nodes/:node/events.csv: all events that fit the filter, the newest first (U81, S94).
func (p *pages) exportEvents(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	if p.History == nil {
		return fault.New(fault.NotFound, "nothing is at this address")
	}
	ctx, f := c.Request.Context(), eventFilter(views.ParseEventQuery(node.Name, c.Request.URL.Query()))
	f.Page, f.PageSize = 1, maxExportEvents
	events, _, err := p.History.List(ctx, f)
	if err != nil {
		return err
	}
	header := titles(ctx, "events.when", "events.what", "instances.instance", "instances.address", "events.why", "events.who", "nodes.version")
	return web.CSV(c, "events-"+node.Name, header, func(yield func([]any, error) bool) {
		for _, r := range eventRows(events) {
			if !yield([]any{r.At, views.T(ctx, "event.kind."+r.Kind), r.Instance, r.Location, views.Translate(views.FrameOf(ctx).Lang, r.Reason), r.Account, r.Version}, nil) {
				return
			}
		}
	})
}

func eventFilter(q views.EventQuery) history.Filter {
	f := history.Filter{Node: q.Node, Instance: q.Instance, Query: q.Text}
	for _, k := range q.Kinds {
		f.Kinds = append(f.Kinds, history.Kind(k))
	}
	return f
}

func eventRows(events []history.Event) []views.EventRow {
	out := make([]views.EventRow, 0, len(events))
	for _, e := range events {
		out = append(out, views.EventRow{
			ID: e.ID, At: e.At, Kind: string(e.Kind), Instance: e.Instance, Location: e.Location, Reason: e.Reason, Account: e.Account, Version: e.Version,
		})
	}
	return out
}

// latest are the last few events of a node or of one of its instances; none where nobody keeps them. That they cannot be read
// is no reason to show nothing of the node.
func (p *pages) latest(c *gin.Context, node, instance string) []views.EventRow {
	if p.History == nil {
		return nil
	}
	events, _, err := p.History.List(c.Request.Context(), history.Filter{Node: node, Instance: instance, Page: 1, PageSize: lastEvents})
	if err != nil {
		return nil
	}
	return eventRows(events)
}
