package console

import (
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// listMenus handles GET /console/menus.
func (p *pages) listMenus(c *gin.Context) error {
	all, err := p.Menus.All(c.Request.Context())
	if err != nil {
		return err
	}
	m := views.MenuList{Said: said(c)}
	for _, one := range menuTree(all) {
		m.Rows = append(m.Rows, menuRow(one))
	}
	return web.Render(c, views.MenuListPage(m))
}

func menuRow(m placedMenu) views.MenuRow {
	return views.MenuRow{
		Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Status: statusWord(m.Status), Depth: m.depth, Right: isRight(m.Menu),
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
			Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Parent: m.Parent, Icon: m.Icon, Status: status, Sort: sort,
		})
		if err == nil {
			subject = made.Code
		}
	}
	if err := p.record(c, "menu.create", subject, err); err != nil {
		return p.menuForm(c, m, err)
	}
	return web.Redirect(c, views.MenusPath, "said", "created")
}

func menuFields(c *gin.Context) views.MenuForm {
	return views.MenuForm{
		Name: text(c, "name"), Type: text(c, "type"), Value: text(c, "value"), Parent: text(c, "parent"), Icon: text(c, "icon"),
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

// editMenu handles GET /console/menus/:menu.
func (p *pages) editMenu(c *gin.Context) error {
	m, err := p.Menus.ByCode(c.Request.Context(), c.Param("menu"))
	if err != nil {
		return err
	}
	form := views.MenuForm{
		Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Parent: m.ParentCode, Icon: m.Icon, Status: statusWord(m.Status),
	}
	if m.Sort != nil {
		form.Sort = strconv.Itoa(*m.Sort)
	}
	return p.menuForm(c, form, nil)
}

// saveMenu handles PUT /console/menus/:menu.
func (p *pages) saveMenu(c *gin.Context) error {
	if err := complete(c, "name", "type", "value", "parent", "icon", "status", "sort"); err != nil {
		return err
	}
	m := menuFields(c)
	m.Code = c.Param("menu")
	status, sort, err := menuNumbers(m)
	if err == nil {
		_, err = p.Menus.Update(c.Request.Context(), m.Code, access.MenuPatch{
			Name: &m.Name, Type: &m.Type, Value: &m.Value, Parent: &m.Parent, Icon: &m.Icon, Status: &status, Sort: sort, NoSort: sort == nil, By: actor(c),
		})
	}
	if err := p.record(c, "menu.update", m.Code, err); err != nil {
		return p.menuForm(c, m, err)
	}
	return web.Redirect(c, views.MenuPath(m.Code), "said", "saved")
}

// deleteMenu handles POST /console/menus/:menu/delete.
func (p *pages) deleteMenu(c *gin.Context) error {
	code := c.Param("menu")
	err := p.Menus.Delete(c.Request.Context(), code)
	if err := p.record(c, "menu.delete", code, err); err != nil {
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
