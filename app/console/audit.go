package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func (p *pages) mountAudit(root *gin.RouterGroup) {
	p.route(root, http.MethodGet, "/audit", p.listAudit, access.CodeAudit)
	p.route(root, http.MethodGet, "/audit.csv", p.exportAudit, access.CodeAudit+"@EXPORT")
	p.route(root, http.MethodGet, "/audit/:entry", p.auditEntry, access.CodeAudit)
	p.route(root, http.MethodGet, "/logins", p.listLogins, access.CodeAudit, access.CodeLogins)
	p.route(root, http.MethodGet, "/logins.csv", p.exportLogins, access.CodeAudit+"@EXPORT", access.CodeLogins+"@EXPORT")
}

// listAudit handles GET /console/audit.
func (p *pages) listAudit(c *gin.Context) error {
	ctx := c.Request.Context()
	q := views.ParseAuditQuery(c.Request.URL.Query())
	size := pageSize(c, &q.Size)
	f, err := auditFilter(ctx, q)
	fields, err := formFault(c, err)
	if err != nil {
		return err
	}
	m := views.AuditList{Filter: q, Fields: fields, Actions: views.AuditActions(ctx)}
	if fields.Refused() {
		return web.Twin(c, map[string]any{"error": fields.Message, "fields": fields.Errors}, views.AuditListPage(m), views.AuditFragment)
	}
	f.PageSize = size
	page, err := p.Audit.Search(ctx, f, q.Place)
	if err != nil {
		return err
	}
	m.Older, m.Until = page.Older, page.Until
	twin := listTwin[auditItem]{Items: []auditItem{}, Older: page.Older}
	for _, e := range page.Entries {
		m.Rows = append(m.Rows, auditRow(c, e))
		twin.Items = append(twin.Items, auditItemOf(e))
	}
	return web.Twin(c, twin, views.AuditListPage(m), views.AuditFragment)
}

// auditFilter reads the filter. What somebody searches for may be the word for an action in either language.
func auditFilter(ctx context.Context, q views.AuditQuery) (access.AuditFilter, error) {
	f := access.AuditFilter{
		Query: q.Text, Words: views.ActionsLike(q.Text), Action: q.Action, Outcome: q.Outcome, Account: q.Account, Subject: q.Subject,
	}
	var err, bad error
	if f.From, err = moment(ctx, q.From, "from"); err != nil {
		return f, err
	}
	if f.To, bad = moment(ctx, q.To, "to"); bad != nil {
		return f, bad
	}
	if len(q.To) == len(time.DateOnly) {
		f.To = f.To.AddDate(0, 0, 1) // until the end of that day
	}
	return f, nil
}

func auditRow(c *gin.Context, e access.Entry) views.AuditRow {
	r := views.AuditRow{
		ID: e.ID, At: e.At, Account: e.Account, User: e.User, Address: e.Address, Action: e.Action, Subject: e.Subject, Method: e.Method,
		URL: e.URL, OK: e.OK, Error: e.Error, RequestID: e.RequestID, Took: e.Took,
	}
	r.SubjectPath = subjectPath(viewer(c), access.ActionCode(e.Action), e.Subject)
	return r
}

// subjectPath leads to what an entry is about, if the viewer may open it. Whether it is still there shows when it is opened.
func subjectPath(v *access.Session, action, subject string) string {
	kind, done, _ := strings.Cut(action, ".")
	if subject == "" || done == "delete" {
		return ""
	}
	for _, k := range []struct {
		kinds, code string
		path        func(string) string
	}{
		{"node token instance drain", access.CodeNodes, func(s string) string {
			name, _, _ := strings.Cut(s, " ")
			return views.NodePath(name, views.TabOverview)
		}},
		{"group", access.CodeGroups, func(s string) string { return views.GroupPath(s, "") }},
		{"user password session", access.CodeUsers, views.UserPath},
		{"role", access.CodeRoles, views.RolePath},
		{"menu", access.CodeMenus, views.MenuPath},
		{"org", access.CodeOrgs, views.OrgPath},
		{"post", access.CodePosts, views.PostPath},
		{"dict item", access.CodeDicts, views.DictPath},
		{"openapi", access.CodeOpenAPI, views.OpenAPIPath},
	} {
		if slices.Contains(strings.Fields(k.kinds), kind) && v.Holds(k.code) {
			return k.path(subject)
		}
	}
	return ""
}

// auditEntry handles GET /console/audit/:entry.
func (p *pages) auditEntry(c *gin.Context) error {
	id, err := strconv.ParseInt(web.Param(c, "entry"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound, "nothing is at this address").Because(err)
	}
	e, err := p.Audit.ByID(c.Request.Context(), id)
	if err != nil {
		return err
	}
	r := auditRow(c, e)
	r.Changes, r.Params = changesOf(e)
	if isFragment(c) {
		return web.Render(c, views.AuditEntryDrawer(r), views.AuditEntryFragment)
	}
	return web.Twin(c, auditItemOf(e), views.AuditEntryPage(r))
}

// exportAudit handles GET /console/audit.csv: all that the filter selects, as it is read.
func (p *pages) exportAudit(c *gin.Context) error {
	ctx := c.Request.Context()
	f, err := auditFilter(ctx, views.ParseAuditQuery(c.Request.URL.Query()))
	if err != nil {
		return err
	}
	rows := func(yield func([]any, error) bool) {
		for e, err := range p.Audit.Each(ctx, f) {
			outcome := "audit.ok"
			if !e.OK {
				outcome = "audit.failed"
			}
			cells := []any{e.At, e.Account, e.User, e.Address, views.ActionWord(ctx, e.Action), e.Action, e.Subject, views.T(ctx, outcome), views.Retell(views.FrameOf(ctx).Lang, e.Error),
				e.Method, e.URL, e.Took.Milliseconds(), e.RequestID, string(e.Before), string(e.Params)}
			if !yield(cells, err) || err != nil {
				return
			}
		}
	}
	return web.CSV(c, "audit", titles(ctx, "audit.time", "users.account", "audit.who", "audit.address", "audit.action", "audit.code", "audit.subject",
		"audit.outcome", "audit.error", "audit.method", "audit.url", "audit.took_ms", "audit.request_id", "audit.before", "audit.after"), rows)
}

// listLogins handles GET /console/logins.
func (p *pages) listLogins(c *gin.Context) error {
	asked := 0
	m := views.LoginList{Query: strings.TrimSpace(c.Query("q")), Place: c.Query("at")}
	found, older, err := p.Audit.Logins(c.Request.Context(), m.Query, m.Place, pageSize(c, &asked))
	if err != nil {
		return err
	}
	m.Older = older
	twin := listTwin[loginItem]{Items: []loginItem{}, Older: older}
	for _, l := range found {
		m.Rows = append(m.Rows, views.LoginRow{At: l.At, User: l.User, Address: l.Address, Browser: l.Browser, System: l.System, Kind: l.Machine})
		twin.Items = append(twin.Items, loginItem{l.At, l.User, l.Address, l.Browser, l.System, l.Machine})
	}
	return web.Twin(c, twin, views.LoginListPage(m))
}

// loginItem is a login as scripts get it.
type loginItem struct {
	At      time.Time `json:"at"`
	User    string    `json:"user"`
	Address string    `json:"address"`
	Browser string    `json:"browser"`
	System  string    `json:"system"`
	Device  string    `json:"device"`
}

// exportLogins handles GET /console/logins.csv.
func (p *pages) exportLogins(c *gin.Context) error {
	ctx := c.Request.Context()
	query := strings.TrimSpace(c.Query("q"))
	rows := func(yield func([]any, error) bool) {
		for from, first := "", true; first || from != ""; first = false {
			found, older, err := p.Audit.Logins(ctx, query, from, exportPage)
			if err = errors.Join(err, ctx.Err()); err != nil {
				yield(nil, err)
				return
			}
			for _, l := range found {
				if !yield([]any{l.At, l.User, l.Address, l.Browser, l.System, l.Machine}, nil) {
					return
				}
			}
			from = older
		}
	}
	return web.CSV(c, "logins", titles(ctx, "audit.time", "audit.who", "audit.address", "me.browser", "logins.system", "logins.device"), rows)
}
