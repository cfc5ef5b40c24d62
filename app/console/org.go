package console

import (
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func (p *pages) mountOrgs(root *gin.RouterGroup) {
	const orgs = access.CodeOrgs
	p.route(root, http.MethodGet, "/orgs", p.listOrgs, orgs)
	p.route(root, http.MethodGet, "/orgs.csv", p.exportOrgs, orgs)
	p.form(root, http.MethodPost, "/orgs", p.createOrg, orgs+"@ADD")
	p.route(root, http.MethodGet, "/orgs/:org", p.oneOrNew("org", p.newOrg, p.editOrg, orgs), orgs, orgs+"@ADD")
	p.form(root, http.MethodPut, "/orgs/:org", p.saveOrg, orgs+"@EDIT")
	p.form(root, http.MethodPost, "/orgs/:org/move", p.moveOrg, orgs+"@EDIT")
	p.form(root, http.MethodPost, "/orgs/:org/delete", p.deleteOrg, orgs+"@DELETE")
}

// orgItem is an organisation as scripts get it.
type orgItem struct {
	Code   string `json:"code"`
	Name   string `json:"name"`
	Parent string `json:"parent"`
	Sort   int    `json:"sort"`
	Users  int    `json:"users"`
}

func orgItemOf(o access.Org) orgItem {
	return orgItem{Code: o.Code, Name: o.Name, Parent: o.ParentCode, Sort: o.Sort, Users: o.Users}
}

// listOrgs handles GET /console/orgs.
func (p *pages) listOrgs(c *gin.Context) error {
	all, err := p.Orgs.All(c.Request.Context())
	if err != nil {
		return err
	}
	m := views.OrgList{Query: strings.TrimSpace(c.Query("q")), All: len(all), Said: said(c)}
	twin := listTwin[orgItem]{Items: []orgItem{}}
	for i, o := range all {
		if !containsFold(m.Query, o.Code, o.Name) {
			continue
		}
		beside := orgsBeside(all, i)
		m.Rows = append(m.Rows, views.OrgRow{
			Code: o.Code, Name: o.Name, Sort: o.Sort, Depth: o.Depth, Users: o.Users, First: beside[0].ID == o.ID, Last: beside[len(beside)-1].ID == o.ID,
		})
		twin.Items = append(twin.Items, orgItemOf(o))
	}
	total := len(twin.Items)
	twin.Total = &total
	return web.Twin(c, twin, views.OrgListPage(m))
}

// orgsBeside are those with the same one above as the one at i, with itself, in their order.
func orgsBeside(tree []access.Org, i int) []access.Org {
	var out []access.Org
	for _, o := range tree {
		if o.Parent == tree[i].Parent && o.Depth == tree[i].Depth {
			out = append(out, o)
		}
	}
	return out
}

// exportOrgs handles GET /console/orgs.csv.
func (p *pages) exportOrgs(c *gin.Context) error {
	ctx := c.Request.Context()
	all, err := p.Orgs.All(ctx)
	if err != nil {
		return err
	}
	query := strings.TrimSpace(c.Query("q"))
	rows := func(yield func([]any, error) bool) {
		for _, o := range all {
			if containsFold(query, o.Code, o.Name) && !yield([]any{o.Code, o.Name, o.ParentCode, o.Sort, o.Users}, nil) {
				return
			}
		}
	}
	return web.CSV(c, "organisations", titles(ctx, "groups.code", "groups.name", "menus.parent", "roles.sort", "roles.users"), iter.Seq2[[]any, error](rows))
}

// newOrg handles GET /console/orgs/new.
func (p *pages) newOrg(c *gin.Context) error {
	return p.orgForm(c, views.OrgForm{New: true, Parent: c.Query("parent")}, nil)
}

func orgFields(c *gin.Context) views.OrgForm {
	return views.OrgForm{Name: text(c, "name"), Parent: text(c, "parent"), Sort: text(c, "sort")}
}

// orgFacts is what the trail keeps of a form.
func orgFacts(m views.OrgForm) map[string]any {
	return map[string]any{"name": m.Name, "parent": m.Parent, "sort": m.Sort}
}

func formOfOrg(o access.Org) views.OrgForm {
	return views.OrgForm{Code: o.Code, Name: o.Name, Parent: o.ParentCode, Sort: strconv.Itoa(o.Sort), Users: o.Users}
}

// createOrg handles POST /console/orgs.
func (p *pages) createOrg(c *gin.Context) error {
	m := orgFields(c)
	m.New, m.Code = true, text(c, "code")
	sort, err := sortNumber(m.Sort)
	if err == nil {
		_, err = p.Orgs.Create(c.Request.Context(), access.NewOrg{Code: m.Code, Name: m.Name, Parent: m.Parent, Sort: sort})
	}
	if err := p.recordChange(c, "org.create", m.Code, nil, orgFacts(m), err); err != nil {
		return p.orgForm(c, m, err)
	}
	return web.Redirect(c, views.OrgsPath, "said", "created")
}

// editOrg handles GET /console/orgs/:org.
func (p *pages) editOrg(c *gin.Context) error {
	o, err := p.Orgs.ByCode(c.Request.Context(), web.Param(c, "org"))
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		return web.Twin(c, orgItemOf(o), nil)
	}
	return p.orgForm(c, formOfOrg(o), nil)
}

// saveOrg handles PUT /console/orgs/:org.
func (p *pages) saveOrg(c *gin.Context) error {
	if err := complete(c, "name", "parent", "sort"); err != nil {
		return err
	}
	ctx, m := c.Request.Context(), orgFields(c)
	m.Code = web.Param(c, "org")
	before, err := p.Orgs.ByCode(ctx, m.Code)
	if err != nil {
		return err
	}
	m.Users = before.Users
	sort, err := sortNumber(m.Sort)
	if err == nil {
		_, err = p.Orgs.Update(ctx, m.Code, access.OrgPatch{Name: &m.Name, Parent: &m.Parent, Sort: &sort})
	}
	if err := p.recordChange(c, "org.update", m.Code, orgFacts(formOfOrg(before)), orgFacts(m), err); err != nil {
		return p.orgForm(c, m, err)
	}
	return p.back(c, views.OrgPath(m.Code), "saved")
}

// moveOrg handles POST /console/orgs/:org/move: up or down by one among those beside it, which get numbers in steps of ten.
func (p *pages) moveOrg(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "org")
	step, ok := map[string]int{"up": -1, "down": 1}[c.PostForm("to")]
	if !ok {
		return fault.New(fault.Invalid, "an organisation moves up or down")
	}
	all, err := p.Orgs.All(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(o access.Org) bool { return o.Code == code })
	if i < 0 {
		return fault.New(fault.NotFound, "no organisation has the code %q", code)
	}
	beside := orgsBeside(all, i)
	at := slices.IndexFunc(beside, func(o access.Org) bool { return o.Code == code })
	if to := at + step; to >= 0 && to < len(beside) {
		beside[at], beside[to] = beside[to], beside[at]
		for n, o := range beside {
			sort := 10 * (n + 1)
			if o.Sort == sort {
				continue
			}
			if _, err = p.Orgs.Update(ctx, o.Code, access.OrgPatch{Sort: &sort}); err != nil {
				break
			}
		}
	}
	if err := p.record(c, "org.move", code, err); err != nil {
		return err
	}
	return p.back(c, views.OrgsPath, "moved")
}

// deleteOrg handles POST /console/orgs/:org/delete.
func (p *pages) deleteOrg(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "org")
	before, err := p.Orgs.ByCode(ctx, code)
	if err != nil {
		return err
	}
	err = p.Orgs.Delete(ctx, code)
	if err := p.recordChange(c, "org.delete", code, orgFacts(formOfOrg(before)), nil, err); err != nil {
		return err
	}
	return web.Redirect(c, views.OrgsPath, "said", "deleted")
}

func (p *pages) orgForm(c *gin.Context, m views.OrgForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	all, err := p.Orgs.All(c.Request.Context())
	if err != nil {
		return err
	}
	m.Fields, m.Said = fields, said(c)
	below := -1 // the depth of this one while those below it are listed: it cannot lie below itself
	for _, o := range all {
		if below >= 0 && o.Depth > below {
			if o.ParentCode == m.Code {
				m.Below = append(m.Below, views.OrgRow{Code: o.Code, Name: o.Name})
			}
			continue
		}
		below = -1
		if !m.New && o.Code == m.Code {
			below = o.Depth
			continue
		}
		m.Parents = append(m.Parents, views.GroupOption{Code: o.Code, Name: o.Name, Depth: o.Depth})
	}
	return web.Render(c, views.OrgFormPage(m))
}

// orgOptions are the organisations to choose from.
func orgOptions(all []access.Org) []views.GroupOption {
	out := make([]views.GroupOption, 0, len(all))
	for _, o := range all {
		if o.Code != "" {
			out = append(out, views.GroupOption{Code: o.Code, Name: o.Name, Depth: o.Depth})
		}
	}
	return out
}
