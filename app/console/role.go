package console

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// listRoles handles GET /console/roles.
func (p *pages) listRoles(c *gin.Context) error {
	roles, err := p.Roles.List(c.Request.Context())
	if err != nil {
		return err
	}
	m := views.RoleList{Said: said(c)}
	for _, r := range roles {
		m.Rows = append(m.Rows, views.RoleRow{Code: r.Code, Name: r.Name, Sort: r.Sort, Enabled: r.Enabled, Menus: len(r.Menus)})
	}
	return web.Render(c, views.RoleListPage(m))
}

// newRole handles GET /console/roles/new.
func (p *pages) newRole(c *gin.Context) error {
	return p.roleForm(c, views.RoleForm{New: true, Enabled: true, Sort: "0"}, nil, nil)
}

// createRole handles POST /console/roles.
func (p *pages) createRole(c *gin.Context) error {
	m, menus := roleFields(c)
	m.New, m.Code = true, text(c, "code")
	sort, err := sortNumber(m.Sort)
	if err == nil {
		_, err = p.Roles.Create(c.Request.Context(), access.NewRole{
			Code: m.Code, Name: m.Name, Sort: sort, Enabled: m.Enabled, Menus: menus, By: actor(c),
		})
	}
	if err := p.record(c, "role.create", m.Code, err); err != nil {
		return p.roleForm(c, m, menus, err)
	}
	return web.Redirect(c, "/console/roles", "said", "created")
}

func roleFields(c *gin.Context) (views.RoleForm, []string) {
	return views.RoleForm{Name: text(c, "name"), Sort: text(c, "sort"), Enabled: c.PostForm("enabled") == "1"}, c.PostFormArray("menu")
}

func sortNumber(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fault.New(fault.Invalid, "the order must be a whole number").Field("sort", "the order must be a whole number").Because(err)
	}
	return n, nil
}

// editRole handles GET /console/roles/:role.
func (p *pages) editRole(c *gin.Context) error {
	ctx := c.Request.Context()
	r, err := p.Roles.ByCode(ctx, c.Param("role"))
	if err != nil {
		return err
	}
	menus, err := p.Menus.All(ctx)
	if err != nil {
		return err
	}
	var given []string
	for _, m := range menus {
		if slices.Contains(r.Menus, m.ID) {
			given = append(given, m.Code)
		}
	}
	return p.roleForm(c, views.RoleForm{Code: r.Code, Name: r.Name, Sort: strconv.Itoa(r.Sort), Enabled: r.Enabled}, given, nil)
}

// saveRole handles PUT /console/roles/:role.
func (p *pages) saveRole(c *gin.Context) error {
	if err := complete(c, "name"); err != nil {
		return err
	}
	m, menus := roleFields(c)
	m.Code = c.Param("role")
	sort, err := sortNumber(m.Sort)
	if err == nil {
		_, err = p.Roles.Update(c.Request.Context(), m.Code, access.RolePatch{
			Name: &m.Name, Sort: &sort, Enabled: &m.Enabled, Menus: &menus, By: actor(c),
		})
	}
	if err := p.record(c, "role.update", m.Code, err); err != nil {
		return p.roleForm(c, m, menus, err)
	}
	return web.Redirect(c, "/console/roles/"+url.PathEscape(m.Code), "said", "saved")
}

// deleteRole handles POST /console/roles/:role/delete.
func (p *pages) deleteRole(c *gin.Context) error {
	code := c.Param("role")
	err := p.Roles.Delete(c.Request.Context(), code)
	if err := p.record(c, "role.delete", code, err); err != nil {
		return err
	}
	return web.Redirect(c, "/console/roles", "said", "deleted")
}

func (p *pages) roleForm(c *gin.Context, m views.RoleForm, given []string, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	menus, err := p.Menus.All(c.Request.Context())
	if err != nil {
		return err
	}
	m.Fields, m.Said, m.Menus = fields, said(c), menuChoices(menus, given)
	return web.Render(c, views.RoleFormPage(m))
}

// menuChoices lists all menus as a tree, each before those below it.
func menuChoices(menus []access.Menu, given []string) []views.MenuChoice {
	var out []views.MenuChoice
	for _, m := range menuTree(menus) {
		out = append(out, views.MenuChoice{
			Code: m.Code, Name: m.Name, Value: m.Value, Depth: m.depth, On: slices.Contains(given, m.Code),
			Button: isRight(m.Menu), Disabled: m.Status == access.MenuDisabled,
		})
	}
	return out
}
