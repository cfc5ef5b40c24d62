package console

import (
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// listAudit handles GET /console/audit.
func (p *pages) listAudit(c *gin.Context) error {
	ctx := c.Request.Context()
	m := views.AuditList{
		Query: c.Query("q"), Account: c.Query("account"), Subject: c.Query("subject"), From: c.Query("from"), To: c.Query("to"),
	}
	f := access.AuditFilter{Query: m.Query, Account: m.Account, Subject: m.Subject}
	zone := views.FrameOf(ctx).Zone
	if zone == nil {
		zone = time.UTC
	}
	var err error
	if f.From, err = day(m.From, zone, "from", 0); err != nil {
		return err
	}
	if f.To, err = day(m.To, zone, "to", 1); err != nil {
		return err
	}
	asked, _ := strconv.Atoi(c.Query("size")) // not a number: as remembered
	page, _ := strconv.Atoi(c.Query("page"))
	f.Page, f.PageSize = max(page, 1), pageSize(c, &asked)
	rows, total, err := p.Audit.List(ctx, f)
	if err != nil {
		return err
	}
	m.Pager = views.Paged(page, f.PageSize, total, func(page, n int) string {
		return pathOf("/console/audit", "q", m.Query, "account", m.Account, "subject", m.Subject, "from", m.From, "to", m.To,
			"page", strconv.Itoa(page), "size", sizeText(n, asked))
	})
	if m.Pager.Page != f.Page { // past the end: show the last page
		f.Page = m.Pager.Page
		if rows, _, err = p.Audit.List(ctx, f); err != nil {
			return err
		}
	}
	for _, e := range rows {
		m.Rows = append(m.Rows, auditRow(e))
	}
	return web.Render(c, views.AuditListPage(m))
}

// day reads a date in the viewer's zone, plus some days; empty is no bound.
func day(s string, zone *time.Location, field string, plus int) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, zone)
	if err != nil {
		return time.Time{}, fault.New(fault.Invalid, "%s must be a date like 2026-12-31", field).Because(err)
	}
	return t.AddDate(0, 0, plus), nil
}

func auditRow(e access.Entry) views.AuditRow {
	return views.AuditRow{
		At: e.At, Account: e.Account, User: e.User, Address: e.Address, Action: e.Action, Subject: e.Subject, Method: e.Method,
		URL: e.URL, OK: e.OK, Error: e.Error, Params: string(e.Params), RequestID: e.RequestID, Took: e.Took,
	}
}
