package console

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func (p *pages) mountOnline(root *gin.RouterGroup) {
	p.route(root, http.MethodGet, "/online", p.listOnline, access.CodeOnline)
	p.route(root, http.MethodGet, "/online.csv", p.exportOnline, access.CodeOnline+"@EXPORT")
	p.form(root, http.MethodPost, "/online/:account/end", p.endOnline, access.CodeOnline+"@DELETE")
}

// onlineItem is a session of somebody as scripts get it.
type onlineItem struct {
	Account string    `json:"account"`
	Name    string    `json:"name"`
	ID      string    `json:"id"`
	Since   time.Time `json:"since,omitzero"`
	Used    time.Time `json:"used,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Address string    `json:"address"`
	Agent   string    `json:"agent"`
	Current bool      `json:"current"`
}

// onlineRows are the sessions that a filter selects, in its order, and how many accounts these have.
func (p *pages) onlineRows(c *gin.Context, q views.OnlineQuery) (rows []views.OnlineRow, accounts, left int, err error) {
	live, left, err := p.Online.List(c.Request.Context(), access.OnlineFilter{Query: q.Text})
	if err != nil {
		return nil, 0, 0, err
	}
	v, count := viewer(c), map[string]int{}
	for _, s := range live {
		count[s.Account]++
	}
	for _, s := range live {
		one := sessionRows([]access.Session{s}, v.Token)[0]
		rows = append(rows, views.OnlineRow{SessionRow: one, Account: s.Account, Name: s.Name, Self: s.Account == v.Account, Others: count[s.Account] - 1})
	}
	slices.SortStableFunc(rows, func(a, b views.OnlineRow) int {
		latest := cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
		switch q.Order {
		case "since":
			return cmp.Or(latest, cmp.Compare(a.Account, b.Account))
		case "used":
			return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Account, b.Account), latest)
		}
		return cmp.Or(cmp.Compare(a.Account, b.Account), latest)
	})
	return rows, len(count), left, nil
}

// listOnline handles GET /console/online.
func (p *pages) listOnline(c *gin.Context) error {
	q := views.ParseOnlineQuery(c.Request.URL.Query())
	size := pageSize(c, &q.Size)
	rows, accounts, left, err := p.onlineRows(c, q)
	if err != nil {
		return err
	}
	m := views.OnlineList{Filter: q, Accounts: accounts, Left: left, Said: said(c)}
	m.Pager = views.Paged(q.Page, size, len(rows), func(page, n int) string { return q.At(page, n).Path(views.OnlinePath) })
	from := (m.Pager.Page - 1) * size
	m.Rows = rows[min(from, len(rows)):min(from+size, len(rows))]
	total := len(rows)
	twin := listTwin[onlineItem]{Items: []onlineItem{}, Total: &total}
	for _, r := range m.Rows {
		twin.Items = append(twin.Items, onlineItem{r.Account, r.Name, r.ID, r.Created, r.Used, r.Expires, r.Address, r.Agent, r.Current})
	}
	return web.Twin(c, twin, views.OnlineListPage(m))
}

// exportOnline handles GET /console/online.csv.
func (p *pages) exportOnline(c *gin.Context) error {
	ctx := c.Request.Context()
	list, _, _, err := p.onlineRows(c, views.ParseOnlineQuery(c.Request.URL.Query()))
	if err != nil {
		return err
	}
	rows := func(yield func([]any, error) bool) {
		for _, r := range list {
			if !yield([]any{r.Account, r.Name, r.Browser, r.Address, r.Created, r.Used, r.Expires}, nil) {
				return
			}
		}
	}
	return web.CSV(c, "online", titles(ctx, "users.account", "users.name", "me.browser", "audit.address", "online.since", "online.used", "users.expires"),
		iter.Seq2[[]any, error](rows))
}

// endOnline handles POST /console/online/:account/end: one session, or all of the account. Which has to be said: a request
// that lost its body would end them all.
func (p *pages) endOnline(c *gin.Context) error {
	account, id := web.Param(c, "account"), text(c, "session")
	action := "session.end"
	switch {
	case c.PostForm("all") == "1" && id == "":
		action = "session.end_all"
	case id == "":
		return fault.New(fault.Invalid, "say which session of %q ends, or all=1", account)
	}
	err := p.Online.End(c.Request.Context(), account, id, actor(c))
	if err := p.record(c, action, account, err); err != nil {
		return err
	}
	return p.back(c, views.OnlinePath, "ended")
}
