package views

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// OpenAPIsPath lists the ways in of programs, OnlinePath who is logged in.
const (
	OpenAPIsPath = "/console/open-api"
	OnlinePath   = "/console/online"
)

// OpenAPIPath returns the address of a way in.
func OpenAPIPath(appid string) string { return itemPath(OpenAPIsPath, appid) }

// OpenAPIList is the page of the ways in of programs.
type OpenAPIList struct {
	Query string
	Rows  []OpenAPIRow
	Pager Pager
	Said  string
}

// OpenAPIRow is one way in.
type OpenAPIRow struct {
	AppID, Name       string
	Account, UserName string
	Minutes           int
	Enabled           bool
	Token             bool // it has a token that is still good
	Since, Used       time.Time
	Expires           time.Time
	Updated           time.Time
}

// OpenAPIForm creates or changes a way in.
type OpenAPIForm struct {
	Fields
	New                  bool
	AppID, Name, Account string
	Minutes              string
	Enabled              bool
	Row                  OpenAPIRow
	Secret               string // a new secret, shown this once
	Example              string // a request that gets a token
	Said                 string
}

func (m OpenAPIForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "openapi.new")
	}
	return m.Name
}

func (m OpenAPIForm) mayChange(ctx context.Context) bool { return mayKeep(ctx, "EruptOpenApi", m.New) }

// OnlineQuery is the filter of who is logged in as it stands in the address bar.
type OnlineQuery struct {
	Text, Order string
	Page, Size  int
}

// OnlineOrders are what the list can be sorted by; the first is the default.
var OnlineOrders = []string{"account", "since", "used"}

// ParseOnlineQuery reads the filter; what it does not understand it leaves out.
func ParseOnlineQuery(v url.Values) OnlineQuery {
	return OnlineQuery{Text: strings.TrimSpace(v.Get("q")), Order: oneOf(v.Get("order"), OnlineOrders), Page: whole(v.Get("page")), Size: whole(v.Get("size"))}
}

// Path returns the address of a list with this filter.
func (q OnlineQuery) Path(list string) string {
	return withQuery(list, "q", q.Text, "order", q.Order, "page", wholeText(q.Page, 1), "size", wholeText(q.Size, 0))
}

// At returns the same list at another page; size 0 keeps it.
func (q OnlineQuery) At(page, size int) OnlineQuery {
	q.Page = page
	if size > 0 {
		q.Size = size
	}
	return q
}

// OnlineList is the page of those who are logged in, a row for each session.
type OnlineList struct {
	Filter   OnlineQuery
	Rows     []OnlineRow
	Pager    Pager
	Accounts int
	Left     int // accounts that are not listed because they are too many
	Said     string
}

// OnlineRow is a session of somebody.
type OnlineRow struct {
	SessionRow
	Account, Name string
	Self          bool // the viewer's own account
	Others        int  // further sessions of the account
	First         bool // of those of its account on this page, in the order by account
}
