package console

import (
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/views"
)

func (p *pages) mountOpenAPIs(root *gin.RouterGroup) {
	const code = access.CodeOpenAPI
	p.route(root, http.MethodGet, "/open-api", p.listOpenAPIs, code)
	p.route(root, http.MethodGet, "/open-api.csv", p.exportOpenAPIs, code)
	p.form(root, http.MethodPost, "/open-api", p.createOpenAPI, code+"@ADD")
	p.route(root, http.MethodGet, "/open-api/:appid", p.oneOrNew("appid", p.newOpenAPI, p.editOpenAPI, code), code, code+"@ADD")
	p.form(root, http.MethodPut, "/open-api/:appid", p.saveOpenAPI, code+"@EDIT")
	p.form(root, http.MethodPost, "/open-api/:appid/secret", p.renewOpenAPI, code+"@EDIT")
	p.form(root, http.MethodPost, "/open-api/:appid/end", p.endOpenAPI, code+"@EDIT")
	p.form(root, http.MethodPost, "/open-api/:appid/delete", p.deleteOpenAPI, code+"@DELETE")
}

// openAPIItem is a way in as scripts get it.
type openAPIItem struct {
	AppID   string    `json:"appid"`
	Name    string    `json:"name"`
	Account string    `json:"account"`
	Minutes int       `json:"minutes"`
	Enabled bool      `json:"enabled"`
	Since   time.Time `json:"tokenSince,omitzero"` // of the token that is good now
	Used    time.Time `json:"tokenUsed,omitzero"`
	Expires time.Time `json:"tokenExpires,omitzero"`
}

func openAPIItemOf(r views.OpenAPIRow) openAPIItem {
	return openAPIItem{AppID: r.AppID, Name: r.Name, Account: r.Account, Minutes: r.Minutes, Enabled: r.Enabled, Since: r.Since, Used: r.Used, Expires: r.Expires}
}

// openAPIRows adds to ways in what their sessions know.
func (p *pages) openAPIRows(c *gin.Context, found []access.OpenAPI) ([]views.OpenAPIRow, error) {
	live, err := p.OpenAPIs.Sessions(c.Request.Context(), found)
	if err != nil {
		return nil, err
	}
	out := make([]views.OpenAPIRow, 0, len(found))
	for _, o := range found {
		r := views.OpenAPIRow{AppID: o.AppID, Name: o.Name, Account: o.Account, UserName: o.UserName, Minutes: o.Minutes, Enabled: o.Enabled, Updated: o.Updated}
		if s, ok := live[o.ID]; ok {
			r.Token, r.Since, r.Used, r.Expires = true, s.Created, s.Used, s.Expires
		}
		out = append(out, r)
	}
	return out, nil
}

// listOpenAPIs handles GET /console/open-api.
func (p *pages) listOpenAPIs(c *gin.Context) error {
	ctx, size := c.Request.Context(), 0
	if n, err := strconv.Atoi(c.Query("size")); err == nil {
		size = n
	}
	f := access.OpenAPIFilter{Query: strings.TrimSpace(c.Query("q")), Page: 1, PageSize: pageSize(c, &size)}
	if n, err := strconv.Atoi(c.Query("page")); err == nil {
		f.Page = max(n, 1)
	}
	found, total, err := p.OpenAPIs.List(ctx, f)
	if err != nil {
		return err
	}
	m := views.OpenAPIList{Query: f.Query, Said: said(c)}
	m.Pager = views.Paged(f.Page, f.PageSize, total, func(page, n int) string {
		if n == 0 {
			n = size
		}
		return views.DictQuery{Text: f.Query, Page: page, Size: n}.Path(views.OpenAPIsPath)
	})
	if m.Pager.Page != f.Page { // past the end: show the last page
		f.Page = m.Pager.Page
		if found, _, err = p.OpenAPIs.List(ctx, f); err != nil {
			return err
		}
	}
	if m.Rows, err = p.openAPIRows(c, found); err != nil {
		return err
	}
	twin := listTwin[openAPIItem]{Items: []openAPIItem{}, Total: &total}
	for _, r := range m.Rows {
		twin.Items = append(twin.Items, openAPIItemOf(r))
	}
	return web.Twin(c, twin, views.OpenAPIListPage(m))
}

// exportOpenAPIs handles GET /console/open-api.csv, which holds no secret.
func (p *pages) exportOpenAPIs(c *gin.Context) error {
	ctx := c.Request.Context()
	f := access.OpenAPIFilter{Query: strings.TrimSpace(c.Query("q")), PageSize: exportPage}
	rows := func(yield func([]any, error) bool) {
		for f.Page = 1; ; f.Page++ {
			found, total, err := p.OpenAPIs.List(ctx, f)
			var list []views.OpenAPIRow
			if err == nil {
				list, err = p.openAPIRows(c, found)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range list {
				if !yield([]any{r.Name, r.AppID, r.Account, r.Minutes, views.T(ctx, onOffKey(r.Enabled)), r.Since, r.Used, r.Updated}, nil) {
					return
				}
			}
			if f.Page*exportPage >= total {
				return
			}
		}
	}
	return web.CSV(c, "open-api", titles(ctx, "groups.name", "openapi.id", "openapi.as", "openapi.minutes", "nodes.state", "openapi.since", "openapi.used",
		"dicts.updated"), iter.Seq2[[]any, error](rows))
}

func onOffKey(on bool) string {
	if on {
		return "users.enabled"
	}
	return "users.disabled"
}

// newOpenAPI handles GET /console/open-api/new.
func (p *pages) newOpenAPI(c *gin.Context) error {
	return p.openAPIForm(c, views.OpenAPIForm{New: true, Enabled: true, Minutes: "3600", Account: viewer(c).Account}, nil)
}

func openAPIFields(c *gin.Context) (views.OpenAPIForm, int, error) {
	m := views.OpenAPIForm{Name: text(c, "name"), Account: text(c, "account"), Minutes: text(c, "minutes"), Enabled: c.PostForm("enabled") == "1"}
	if m.Minutes == "" {
		m.Minutes = "3600"
	}
	n, err := strconv.ParseInt(m.Minutes, 10, 32)
	if err != nil {
		const format = "is a whole number from 1 to 527040"
		return m, 0, fault.New(fault.Invalid, "some fields need correction").Field("minutes", format).Because(err)
	}
	return m, int(n), nil
}

// openAPIFacts is what the trail keeps of a form.
func openAPIFacts(m views.OpenAPIForm) map[string]any {
	return map[string]any{"name": m.Name, "account": m.Account, "minutes": m.Minutes, "enabled": m.Enabled}
}

func formOfOpenAPI(o access.OpenAPI) views.OpenAPIForm {
	return views.OpenAPIForm{AppID: o.AppID, Name: o.Name, Account: o.Account, Minutes: strconv.Itoa(o.Minutes), Enabled: o.Enabled}
}

// createOpenAPI handles POST /console/open-api; the answer shows the secret.
func (p *pages) createOpenAPI(c *gin.Context) error {
	m, minutes, err := openAPIFields(c)
	m.New = true
	var made access.OpenAPI
	var secret string
	if err == nil {
		made, secret, err = p.OpenAPIs.Create(c.Request.Context(), access.NewOpenAPI{
			Name: m.Name, Account: m.Account, Minutes: minutes, Enabled: m.Enabled, By: actor(c),
		})
	}
	if err := p.recordChange(c, "openapi.create", made.AppID, nil, openAPIFacts(m), err); err != nil {
		return p.openAPIForm(c, m, err)
	}
	return p.showOpenAPISecret(c, made, secret)
}

// showOpenAPISecret answers with a way in and its new secret; no address leads to it again.
func (p *pages) showOpenAPISecret(c *gin.Context, o access.OpenAPI, secret string) error {
	m := formOfOpenAPI(o)
	m.Secret = secret
	c.Status(http.StatusOK)
	return p.openAPIForm(c, m, nil)
}

// editOpenAPI handles GET /console/open-api/:appid.
func (p *pages) editOpenAPI(c *gin.Context) error {
	o, err := p.OpenAPIs.ByAppID(c.Request.Context(), web.Param(c, "appid"))
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		rows, err := p.openAPIRows(c, []access.OpenAPI{o})
		if err != nil {
			return err
		}
		return web.Twin(c, openAPIItemOf(rows[0]), nil)
	}
	return p.openAPIForm(c, formOfOpenAPI(o), nil)
}

// saveOpenAPI handles PUT /console/open-api/:appid.
func (p *pages) saveOpenAPI(c *gin.Context) error {
	if err := complete(c, "name", "account", "minutes"); err != nil {
		return err
	}
	ctx, appid := c.Request.Context(), web.Param(c, "appid")
	before, err := p.OpenAPIs.ByAppID(ctx, appid)
	if err != nil {
		return err
	}
	m, minutes, err := openAPIFields(c)
	m.AppID = appid
	if err == nil {
		_, err = p.OpenAPIs.Update(ctx, appid, access.OpenAPIPatch{
			Name: &m.Name, Account: &m.Account, Minutes: &minutes, Enabled: &m.Enabled, By: actor(c),
		})
	}
	if err := p.recordChange(c, "openapi.update", appid, openAPIFacts(formOfOpenAPI(before)), openAPIFacts(m), err); err != nil {
		return p.openAPIForm(c, m, err)
	}
	if m.Account == before.Account {
		return p.back(c, views.OpenAPIPath(appid), "saved")
	}
	// Linked anew it has no secret that anybody knows.
	secret, err := p.OpenAPIs.NewSecret(ctx, appid, actor(c))
	if err := p.record(c, "openapi.secret", appid, err); err != nil {
		return err
	}
	o, err := p.OpenAPIs.ByAppID(ctx, appid)
	if err != nil {
		return err
	}
	return p.showOpenAPISecret(c, o, secret)
}

// renewOpenAPI handles POST /console/open-api/:appid/secret. There is nothing else to fill in, so the form has to say that it
// was meant: a request that lost its body would shut a program out.
func (p *pages) renewOpenAPI(c *gin.Context) error {
	ctx, appid := c.Request.Context(), web.Param(c, "appid")
	if c.PostForm("confirm") != "1" {
		return fault.New(fault.Invalid, "say confirm=1 to give %q another secret", appid)
	}
	secret, err := p.OpenAPIs.NewSecret(ctx, appid, actor(c))
	if err := p.record(c, "openapi.secret", appid, err); err != nil {
		return err
	}
	o, err := p.OpenAPIs.ByAppID(ctx, appid)
	if err != nil {
		return err
	}
	return p.showOpenAPISecret(c, o, secret)
}

// endOpenAPI handles POST /console/open-api/:appid/end: the current token stops working.
func (p *pages) endOpenAPI(c *gin.Context) error {
	appid := web.Param(c, "appid")
	err := p.OpenAPIs.EndToken(c.Request.Context(), appid, actor(c))
	if err := p.record(c, "openapi.end", appid, err); err != nil {
		return err
	}
	return p.back(c, views.OpenAPIPath(appid), "ended")
}

// deleteOpenAPI handles POST /console/open-api/:appid/delete.
func (p *pages) deleteOpenAPI(c *gin.Context) error {
	ctx, appid := c.Request.Context(), web.Param(c, "appid")
	before, err := p.OpenAPIs.ByAppID(ctx, appid)
	if err != nil {
		return err
	}
	err = p.OpenAPIs.Delete(ctx, appid, actor(c))
	if err := p.recordChange(c, "openapi.delete", appid, openAPIFacts(formOfOpenAPI(before)), nil, err); err != nil {
		return err
	}
	return web.Redirect(c, views.OpenAPIsPath, "said", "deleted")
}

func (p *pages) openAPIForm(c *gin.Context, m views.OpenAPIForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	m.Fields, m.Said = fields, said(c)
	if m.New {
		return web.Render(c, views.OpenAPIFormPage(m))
	}
	o, err := p.OpenAPIs.ByAppID(c.Request.Context(), m.AppID)
	if err != nil {
		return err
	}
	rows, err := p.openAPIRows(c, []access.OpenAPI{o})
	if err != nil {
		return err
	}
	m.Row = rows[0]
	m.Example = "curl '" + p.server(c) + wire.NodeAPI + "/open-api/create-token?appid=" + m.AppID + "&secret=SECRET'"
	return web.Render(c, views.OpenAPIFormPage(m))
}
