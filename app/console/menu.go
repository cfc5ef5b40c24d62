package console

import (
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

func (p *pages) mountMenus(root *gin.RouterGroup) {
	const menus = access.CodeMenus
	p.route(root, http.MethodGet, "/menus", p.listMenus, menus)
	p.route(root, http.MethodGet, "/menus.csv", p.exportMenus, menus)
	p.form(root, http.MethodPost, "/menus", p.createMenu, menus+"@ADD")
	p.route(root, http.MethodGet, "/menus/:menu", p.oneOrNew("menu", p.newMenu, p.editMenu, menus), menus, menus+"@ADD")
	p.form(root, http.MethodPut, "/menus/:menu", p.saveMenu, menus+"@EDIT")
	p.form(root, http.MethodPost, "/menus/:menu/move", p.moveMenu, menus+"@EDIT")
	p.form(root, http.MethodPost, "/menus/:menu/delete", p.deleteMenu, menus+"@DELETE")
}

// listMenus handles GET /console/menus.
func (p *pages) listMenus(c *gin.Context) error {
	ctx := c.Request.Context()
	all, err := p.Menus.All(ctx)
	if err != nil {
		return err
	}
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return err
	}
	tree := menuTree(all)
	m := views.MenuList{Query: strings.TrimSpace(c.Query("q")), All: len(all), Said: said(c)}
	twin := listTwin[menuItem]{Items: []menuItem{}}
	for i, one := range tree {
		if !containsFold(m.Query, one.Code, one.Name, one.Value, views.MenuName(ctx, one.Code, one.Name)) {
			continue
		}
		r := menuRow(one)
		r.First, r.Last = edges(tree, i)
		holders := holdersOf(roles, one.ID)
		r.Roles = len(holders)
		m.Rows = append(m.Rows, r)
		twin.Items = append(twin.Items, menuItemOf(one.Menu, holders))
	}
	total := len(twin.Items)
	twin.Total = &total
	if viewer(c).Holds(access.CodeMenus + "@ADD") {
		m.Pages, m.More = p.unoffered(all)
		if len(m.Pages) > 0 && viewer(c).Holds(access.CodeRoles+"@EDIT") {
			m.Roles = roleChoices(roles, nil)
		}
	}
	return web.Twin(c, twin, views.MenuListPage(m))
}

// holdersOf are the roles that bundle a menu.
func holdersOf(roles []access.Role, id int64) []access.Role {
	return slices.DeleteFunc(slices.Clone(roles), func(r access.Role) bool { return !slices.Contains(r.Menus, id) })
}

// menuItem is a menu as scripts get it.
type menuItem struct {
	Code   string   `json:"code"`
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Value  string   `json:"value"`
	Parent string   `json:"parent"`
	Status string   `json:"status"`
	Sort   *int     `json:"sort"`
	Icon   string   `json:"icon"`
	Roles  []string `json:"roles"`
}

func menuItemOf(m access.Menu, holders []access.Role) menuItem {
	out := menuItem{
		Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Parent: m.ParentCode, Status: statusWord(m.Status), Sort: m.Sort, Icon: m.Icon,
		Roles: []string{},
	}
	for _, r := range holders {
		out.Roles = append(out.Roles, r.Code)
	}
	return out
}

func menuRow(m placedMenu) views.MenuRow {
	return views.MenuRow{
		Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Status: statusWord(m.Status), Depth: m.depth, Right: isRight(m.Menu), Icon: m.Icon,
	}
}

// statusWord is how forms and texts name a status; what is not known shows as disabled, which it is not for certain to be open.
func statusWord(s access.MenuStatus) string {
	switch s {
	case access.MenuOpen, 0:
		return "open"
	case access.MenuHidden:
		return "hidden"
	}
	return "disabled"
}

// newMenu handles GET /console/menus/new.
func (p *pages) newMenu(c *gin.Context) error {
	return p.menuForm(c, views.MenuForm{New: true, Status: "open", Parent: c.Query("parent")}, nil)
}

// createMenu handles POST /console/menus.
func (p *pages) createMenu(c *gin.Context) error {
	m := menuFields(c)
	m.New, m.Code = true, text(c, "code")
	status, sort, err := menuNumbers(m)
	subject := m.Code
	if err == nil {
		var made access.Menu
		made, err = p.Menus.Create(c.Request.Context(), access.NewMenu{
			Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Parent: m.Parent, Icon: m.Icon, Param: m.Param, Status: status, Sort: sort,
		})
		if err == nil {
			subject = made.Code
		}
	}
	if err := p.recordChange(c, "menu.create", subject, nil, menuFacts(m), err); err != nil {
		return p.menuForm(c, m, err)
	}
	return web.Redirect(c, views.MenusPath, "said", "created")
}

func menuFields(c *gin.Context) views.MenuForm {
	return views.MenuForm{
		Param: text(c, "param"), Name: text(c, "name"), Type: text(c, "type"), Value: text(c, "value"), Parent: text(c, "parent"), Icon: text(c, "icon"),
		Status: text(c, "status"), Sort: text(c, "sort"),
	}
}

// menuNumbers reads status and order. An empty order is none, which erupt sorts first.
func menuNumbers(m views.MenuForm) (access.MenuStatus, *int, error) {
	status := slices.Index(views.MenuStatuses, m.Status)
	if status < 0 {
		return 0, nil, fault.New(fault.Invalid, "some fields need correction").Field("status", "is 1 (open), 2 (hidden) or 3 (disabled)")
	}
	if m.Sort == "" {
		return access.MenuStatus(status + 1), nil, nil
	}
	sort, err := sortNumber(m.Sort)
	return access.MenuStatus(status + 1), &sort, err
}

// menuFacts is what the trail keeps of a form.
func menuFacts(m views.MenuForm) map[string]any {
	return map[string]any{
		"name": m.Name, "type": m.Type, "value": m.Value, "parent": m.Parent, "icon": m.Icon, "status": m.Status, "sort": m.Sort, "param": m.Param,
	}
}

func formOfMenu(m access.Menu) views.MenuForm {
	form := views.MenuForm{
		Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Parent: m.ParentCode, Icon: m.Icon, Status: statusWord(m.Status), Param: m.Param,
	}
	if m.Sort != nil {
		form.Sort = strconv.Itoa(*m.Sort)
	}
	return form
}

// editMenu handles GET /console/menus/:menu.
func (p *pages) editMenu(c *gin.Context) error {
	ctx := c.Request.Context()
	m, err := p.Menus.ByCode(ctx, web.Param(c, "menu"))
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		roles, err := p.Roles.List(ctx)
		if err != nil {
			return err
		}
		return web.Twin(c, menuItemOf(m, holdersOf(roles, m.ID)), nil)
	}
	return p.menuForm(c, formOfMenu(m), nil)
}

// saveMenu handles PUT /console/menus/:menu.
func (p *pages) saveMenu(c *gin.Context) error {
	if err := complete(c, "name", "type", "value", "parent", "icon", "status", "sort"); err != nil {
		return err
	}
	m := menuFields(c)
	m.Code = web.Param(c, "menu")
	before, err := p.Menus.ByCode(c.Request.Context(), m.Code)
	if err != nil {
		return err
	}
	status, sort, err := menuNumbers(m)
	param := &m.Param
	if _, sent := c.GetPostForm("param"); !sent {
		param, m.Param = nil, before.Param
	}
	if err == nil {
		_, err = p.Menus.Update(c.Request.Context(), m.Code, access.MenuPatch{
			Param: param,
			Name:  &m.Name, Type: &m.Type, Value: &m.Value, Parent: &m.Parent, Icon: &m.Icon, Status: &status, Sort: sort, NoSort: sort == nil, By: actor(c),
		})
	}
	if err := p.recordChange(c, "menu.update", m.Code, menuFacts(formOfMenu(before)), menuFacts(m), err); err != nil {
		return p.menuForm(c, m, err)
	}
	return p.back(c, views.MenuPath(m.Code), "saved")
}

// deleteMenu handles POST /console/menus/:menu/delete.
func (p *pages) deleteMenu(c *gin.Context) error {
	code := web.Param(c, "menu")
	before, err := p.Menus.ByCode(c.Request.Context(), code)
	if err != nil {
		return err
	}
	err = p.Menus.Delete(c.Request.Context(), code)
	if err := p.recordChange(c, "menu.delete", code, menuFacts(formOfMenu(before)), nil, err); err != nil {
		return err
	}
	return web.Redirect(c, views.MenusPath, "said", "deleted")
}

func (p *pages) menuForm(c *gin.Context, m views.MenuForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	all, err := p.Menus.All(c.Request.Context())
	if err != nil {
		return err
	}
	m.Fields, m.Said = fields, said(c)
	if m.Roles, err = p.menuRoles(c, m, all); err != nil {
		return err
	}
	below := -1 // the depth of this menu while those below it are listed: it cannot lie below itself
	for _, one := range menuTree(all) {
		if below >= 0 && one.depth > below {
			if one.ParentCode == m.Code && isRight(one.Menu) {
				m.Buttons = append(m.Buttons, menuRow(one))
			}
			continue
		}
		below = -1
		if !m.New && one.Code == m.Code {
			below = one.depth
			continue
		}
		if !isRight(one.Menu) || one.Code == m.Parent {
			m.Parents = append(m.Parents, views.GroupOption{Code: one.Code, Name: one.Name, Depth: one.depth})
		}
	}
	return web.Render(c, views.MenuFormPage(m))
}

// menuRoles are the roles that bundle the menu of a form.
func (p *pages) menuRoles(c *gin.Context, m views.MenuForm, all []access.Menu) ([]views.RoleChoice, error) {
	i := slices.IndexFunc(all, func(one access.Menu) bool { return one.Code == m.Code })
	if m.New || i < 0 {
		return nil, nil
	}
	roles, err := p.Roles.List(c.Request.Context())
	if err != nil {
		return nil, err
	}
	return roleChoices(holdersOf(roles, all[i].ID), nil), nil
}
