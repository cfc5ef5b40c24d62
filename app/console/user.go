package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// mountAccess adds the pages that say who may do what.
func (p *pages) mountAccess(root *gin.RouterGroup) {
	const users, roles, menus = access.CodeUsers, access.CodeRoles, access.CodeMenus
	p.route(root, http.MethodGet, "/users", p.listUsers, users)
	p.route(root, http.MethodGet, "/users/new", p.newUser, users+"@ADD")
	p.form(root, http.MethodPost, "/users", p.createUser, users+"@ADD")
	p.route(root, http.MethodGet, "/users/:account", p.editUser, users)
	p.form(root, http.MethodPut, "/users/:account", p.saveUser, users+"@EDIT")
	p.form(root, http.MethodPost, "/users/:account/logout", p.logoutUser, users+"@EDIT")
	p.form(root, http.MethodPost, "/users/:account/delete", p.deleteUser, users+"@DELETE")
	p.route(root, http.MethodGet, "/roles", p.listRoles, roles)
	p.route(root, http.MethodGet, "/roles/new", p.newRole, roles+"@ADD")
	p.form(root, http.MethodPost, "/roles", p.createRole, roles+"@ADD")
	p.route(root, http.MethodGet, "/roles/:role", p.editRole, roles)
	p.form(root, http.MethodPut, "/roles/:role", p.saveRole, roles+"@EDIT")
	p.form(root, http.MethodPost, "/roles/:role/delete", p.deleteRole, roles+"@DELETE")
	p.route(root, http.MethodGet, "/menus", p.listMenus, menus)
	p.route(root, http.MethodGet, "/menus/new", p.newMenu, menus+"@ADD")
	p.form(root, http.MethodPost, "/menus", p.createMenu, menus+"@ADD")
	p.route(root, http.MethodGet, "/menus/:menu", p.editMenu, menus)
	p.form(root, http.MethodPut, "/menus/:menu", p.saveMenu, menus+"@EDIT")
	p.form(root, http.MethodPost, "/menus/:menu/delete", p.deleteMenu, menus+"@DELETE")
	p.route(root, http.MethodGet, "/audit", p.listAudit, access.CodeAudit)
}

// listUsers handles GET /console/users.
func (p *pages) listUsers(c *gin.Context) error {
	ctx := c.Request.Context()
	asked, _ := strconv.Atoi(c.Query("size")) // not a number: as remembered
	size := pageSize(c, &asked)
	page, _ := strconv.Atoi(c.Query("page"))
	m := views.UserList{Query: c.Query("q"), Said: said(c)}
	found, total, err := p.Users.List(ctx, access.UserFilter{Query: m.Query, Page: max(page, 1), PageSize: size})
	if err != nil {
		return err
	}
	m.Pager = views.Paged(page, size, total, func(page, n int) string {
		return pathOf("/console/users", "q", m.Query, "page", strconv.Itoa(page), "size", sizeText(n, asked))
	})
	if m.Pager.Page != max(page, 1) { // past the end: show the last page
		if found, _, err = p.Users.List(ctx, access.UserFilter{Query: m.Query, Page: m.Pager.Page, PageSize: size}); err != nil {
			return err
		}
	}
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return err
	}
	for _, u := range found {
		m.Rows = append(m.Rows, views.UserRow{
			Account: u.Account, Name: u.Name, Roles: roleNames(u, roles), Enabled: u.Enabled, Admin: u.Admin, Created: u.Created,
		})
	}
	return web.Render(c, views.UserListPage(m))
}

func roleNames(u access.User, roles []access.Role) []string {
	var out []string
	for _, r := range roles {
		if slices.Contains(u.Roles, r.ID) {
			out = append(out, r.Name)
		}
	}
	return out
}

// newUser handles GET /console/users/new.
func (p *pages) newUser(c *gin.Context) error {
	return p.userForm(c, views.UserForm{New: true, Enabled: true}, nil, nil)
}

// createUser handles POST /console/users.
func (p *pages) createUser(c *gin.Context) error {
	m := userFields(c)
	m.New, m.Account = true, text(c, "account")
	roles := c.PostFormArray("role")
	_, err := p.Users.Create(c.Request.Context(), access.NewUser{
		Account: m.Account, Name: m.Name, Password: c.PostForm("password"), Phone: m.Phone, Email: m.Email, Remark: m.Remark,
		Enabled: m.Enabled, Admin: m.Admin, Roles: roles, By: actor(c),
	})
	if err := p.record(c, "user.create", m.Account, err); err != nil {
		return p.userForm(c, m, roles, err)
	}
	return web.Redirect(c, "/console/users", "said", "created")
}

func userFields(c *gin.Context) views.UserForm {
	return views.UserForm{
		Name: text(c, "name"), Phone: text(c, "phone"), Email: text(c, "email"), Remark: text(c, "remark"),
		Enabled: c.PostForm("enabled") == "1", Admin: c.PostForm("admin") == "1",
	}
}

// editUser handles GET /console/users/:account.
func (p *pages) editUser(c *gin.Context) error {
	u, err := p.Users.ByAccount(c.Request.Context(), c.Param("account"))
	if err != nil {
		return err
	}
	return p.userForm(c, views.UserForm{
		Account: u.Account, Name: u.Name, Phone: u.Phone, Email: u.Email, Remark: u.Remark, Enabled: u.Enabled, Admin: u.Admin,
	}, u.RoleCodes, nil)
}

// saveUser handles PUT /console/users/:account.
func (p *pages) saveUser(c *gin.Context) error {
	if err := complete(c, "name"); err != nil {
		return err
	}
	m := userFields(c)
	m.Account = c.Param("account")
	roles := c.PostFormArray("role")
	patch := access.UserPatch{Name: &m.Name, Phone: &m.Phone, Email: &m.Email, Remark: &m.Remark, Roles: &roles, By: actor(c)}
	if m.Account != viewer(c).Account {
		patch.Enabled = &m.Enabled
	}
	if viewer(c).Admin {
		patch.Admin = &m.Admin
	}
	if pw := c.PostForm("password"); pw != "" {
		patch.Password = &pw
	}
	_, err := p.Users.Update(c.Request.Context(), m.Account, patch)
	if err := p.record(c, "user.update", m.Account, err); err != nil {
		return p.userForm(c, m, roles, err)
	}
	return web.Redirect(c, "/console/users/"+url.PathEscape(m.Account), "said", "saved")
}

// logoutUser handles POST /console/users/:account/logout.
func (p *pages) logoutUser(c *gin.Context) error {
	account := c.Param("account")
	if _, err := p.Users.ByAccount(c.Request.Context(), account); err != nil {
		return err
	}
	err := p.Sessions.EndAll(c.Request.Context(), account)
	if err := p.record(c, "session.end_all", account, err); err != nil {
		return err
	}
	return web.Redirect(c, "/console/users/"+url.PathEscape(account), "said", "ended")
}

// deleteUser handles POST /console/users/:account/delete.
func (p *pages) deleteUser(c *gin.Context) error {
	account := c.Param("account")
	err := p.Users.Delete(c.Request.Context(), account, actor(c))
	if err := p.record(c, "user.delete", account, err); err != nil {
		return err
	}
	return web.Redirect(c, "/console/users", "said", "deleted")
}

func (p *pages) userForm(c *gin.Context, m views.UserForm, given []string, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	roles, err := p.Roles.List(c.Request.Context())
	if err != nil {
		return err
	}
	m.Fields, m.Said, m.Self, m.MayAdmin = fields, said(c), m.Account == viewer(c).Account, viewer(c).Admin
	for _, r := range roles {
		m.Roles = append(m.Roles, views.RoleChoice{Code: r.Code, Name: r.Name, On: slices.Contains(given, r.Code), Enabled: r.Enabled})
	}
	if !m.New && !m.Self {
		logins, err := p.Sessions.Of(c.Request.Context(), m.Account)
		if err != nil {
			return err
		}
		m.Sessions = sessionRows(logins, "")
	}
	return web.Render(c, views.UserFormPage(m))
}

// pathOf writes a path with those parameters that are not empty.
func pathOf(path string, params ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] != "" {
			v.Set(params[i], params[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// sizeText is the page size for an address: the new one, else the one that was asked for.
func sizeText(n, asked int) string {
	if n == 0 {
		n = asked
	}
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
