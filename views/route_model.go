package views

import (
	"net/url"
	"slices"
	"time"
)

// TabRoute is where a node's last requests went, and why.
const TabRoute = "/route"

// RouteTable is the fragment of the last requests.
const RouteTable = "route-table"

// RouteOutcome is what became of a request, for filters.
type RouteOutcome string

// The outcomes.
const (
	RouteAnswered RouteOutcome = "answered" // the first choice answered
	RouteMoved    RouteOutcome = "moved"    // another one answered, after one or more refused the connection
	RouteRefused  RouteOutcome = "refused"  // no right to it
	RouteFailed   RouteOutcome = "failed"
)

// RouteOutcomes are the filters in their order.
var RouteOutcomes = []RouteOutcome{RouteAnswered, RouteMoved, RouteRefused, RouteFailed}

// RouteTrace is the way of one request.
type RouteTrace struct {
	ID                 string
	At                 time.Time
	Node               string
	Method, Path       string
	Function           string // "ADD", "EDIT", …; empty: reading
	Account            string // empty: nobody was signed in
	Anonymous          bool   // of somebody else, for a viewer who may not know who asked for what: no Account, no Path
	Allowed            bool
	Required, Because  string // the permission that it needs; why it was refused
	Routed             int    // locations that took requests
	Total              int
	Hops               []RouteHop
	Answered           string // instance; empty: none
	Status             int
	Failed             bool
	ClientLeft         bool
	Message            string
	Retry              string // "refused", "sent", "answered", "missing", "none_left", "refused_body_read" or empty
	Waited, Took       time.Duration
	Dry, Own, Disabled bool
}

// RouteHop is one location on or beside the way.
type RouteHop struct {
	Name, Location string
	Order          int // in which it was tried or would be, from 1; 0: left out
	Tried, Taken   bool
	Error          string // of the attempt, in the words of the network
	Took           time.Duration
	Standing       string // "routed", "held", "draining" or "evicted"
	Why, By        string
	Since          time.Time
}

// Tried reports whether the request went to an instance, or was tried there.
func (t RouteTrace) Tried(instance string) bool {
	return t.Answered == instance || slices.ContainsFunc(t.Hops, func(h RouteHop) bool { return h.Name == instance && h.Tried })
}

// Outcome classes a trace.
func (t RouteTrace) Outcome() RouteOutcome {
	tries := 0
	for _, h := range t.Hops {
		if h.Tried {
			tries++
		}
	}
	switch {
	case !t.Allowed:
		return RouteRefused
	case t.Failed:
		return RouteFailed
	case tries > 1:
		return RouteMoved
	}
	return RouteAnswered
}

func (o RouteOutcome) state() (class, icon string) {
	switch o {
	case RouteMoved:
		return "is-slow", "route"
	case RouteRefused:
		return "is-off", "disabled"
	case RouteFailed:
		return "is-down", "down"
	}
	return "is-up", "up"
}

// RoutePath is the address of a node's route view; id may be empty.
func RoutePath(node, id string) string {
	path := NodePath(node, TabRoute)
	if id != "" {
		path += "?" + url.Values{"id": {id}}.Encode()
	}
	return path
}

// RequestPath is the address of the way of a request whose node one need not know.
func RequestPath(id string) string { return "/console/requests/" + url.PathEscape(id) }

// RouteModel is the page of a node's last requests.
type RouteModel struct {
	NodeHead
	Traces  []RouteTrace // that match the filter, newest first
	Counts  map[RouteOutcome]int
	Kept    int // in all
	Outcome RouteOutcome
	Shown   *RouteTrace // the one whose way is drawn
	Missing string      // an id that is not kept (any more)
	Form    RouteForm
}

// RouteForm is the dry run.
type RouteForm struct {
	Method, Path, Page, Action, As string
	Pages                          []string
	Admin                          bool
	Error                          string
}

// RouteActions are what a dry run may ask of a page.
var RouteActions = []string{"build", "table", "add", "edit", "delete"}

// example is a path as the dry run wants it.
func (m RouteModel) example() string {
	page := "Customer"
	if len(m.Form.Pages) > 0 {
		page = m.Form.Pages[0]
	}
	return "/erupt-api/build/" + m.Name + "." + page
}

func (m RouteModel) filterPath(o RouteOutcome) string {
	q := url.Values{}
	if o != "" {
		q.Set("outcome", string(o))
	}
	if m.Shown != nil && m.Shown.ID != "" {
		q.Set("id", m.Shown.ID)
	}
	if m.Instance != "" {
		q.Set("instance", m.Instance)
	}
	if len(q) == 0 {
		return NodePath(m.Name, TabRoute)
	}
	return NodePath(m.Name, TabRoute) + "?" + q.Encode()
}
