package console

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func (p *pages) mountRoles(root *gin.RouterGroup) {
	const roles = access.CodeRoles
	p.route(root, http.MethodGet, "/roles", p.listRoles, roles)
	p.route(root, http.MethodGet, "/roles.csv", p.exportRoles, roles)
	p.form(root, http.MethodPost, "/roles", p.createRole, roles+"@ADD")
	p.route(root, http.MethodGet, "/roles/:role", p.oneOrNew("role", p.newRole, p.editRole, roles), roles, roles+"@ADD")
	p.form(root, http.MethodPut, "/roles/:role", p.saveRole, roles+"@EDIT")
	p.form(root, http.MethodPost, "/roles/:role/delete", p.deleteRole, roles+"@DELETE")
}

// listRoles handles GET /console/roles.
func (p *pages) listRoles(c *gin.Context) error {
	roles, groups, users, err := p.allRoles(c.Request.Context())
	if err != nil {
		return err
	}
	m := views.RoleList{Query: strings.TrimSpace(c.Query("q")), All: len(roles), Said: said(c)}
	twin := listTwin[roleItem]{Items: []roleItem{}}
	for _, r := range roles {
		if !containsFold(m.Query, r.Code, r.Name) {
			continue
		}
		m.Rows = append(m.Rows, views.RoleRow{
			Code: r.Code, Name: r.Name, Sort: r.Sort, Enabled: r.Enabled, Menus: len(r.Menus), Users: users[r.Code], ReadOnly: r.ReadOnly,
			Groups: groupNames(groups, r.Groups),
		})
		twin.Items = append(twin.Items, roleItemOf(r, groups, users[r.Code]))
	}
	total := len(twin.Items)
	twin.Total = &total
	return web.Twin(c, twin, views.RoleListPage(m))
}

// allRoles reads the roles, the groups that they may end at, and how many users each has.
func (p *pages) allRoles(ctx context.Context) (roles []access.Role, groups []fleet.Group, users map[string]int, err error) {
	if roles, err = p.Roles.List(ctx); err != nil {
		return nil, nil, nil, err
	}
	if groups, err = p.Groups.List(ctx); err != nil {
		return nil, nil, nil, err
	}
	users, err = p.Users.CountByRole(ctx)
	return roles, groups, users, err
}

// exportRoles handles GET /console/roles.csv: the roles that the search finds (U81, S94).
func (p *pages) exportRoles(c *gin.Context) error {
	ctx, query := c.Request.Context(), strings.TrimSpace(c.Query("q"))
	roles, groups, users, err := p.allRoles(ctx)
	if err != nil {
		return err
	}
	header := titles(ctx, "groups.code", "roles.role", "roles.sort", "nodes.enabled", "roles.read_only", "roles.in_groups", "roles.menus", "roles.users")
	return web.CSV(c, "roles", header, func(yield func([]any, error) bool) {
		for _, r := range roles {
			if !containsFold(query, r.Code, r.Name) {
				continue
			}
			i := roleItemOf(r, groups, users[r.Code])
			if !yield([]any{i.Code, i.Name, i.Sort, i.Enabled, i.ReadOnly, strings.Join(i.Groups, " "), strings.Join(i.Menus, " "), i.Users}, nil) {
				return
			}
		}
	})
}

// containsFold reports whether one of texts contains q in any case; an empty q is in all.
func containsFold(q string, texts ...string) bool {
	q = strings.ToLower(q)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), q) })
}

// groupNames names node groups; one that is gone is named by a mark, because the role still says it.
func groupNames(groups []fleet.Group, ids []int64) []string {
	var out []string
	for _, id := range ids {
		i := slices.IndexFunc(groups, func(g fleet.Group) bool { return g.ID == id })
		if i < 0 {
			out = append(out, "?")
			continue
		}
		out = append(out, groups[i].Name)
	}
	return out
}

// roleItem is a role as scripts get it.
type roleItem struct {
	Code     string   `json:"code"`
	Name     string   `json:"name"`
	Sort     int      `json:"sort"`
	Enabled  bool     `json:"enabled"`
	ReadOnly bool     `json:"readOnly"`
	Groups   []string `json:"groups"` // codes of node groups; none: everywhere
	Menus    []string `json:"menus"`  // codes
	Users    int      `json:"users"`
}

func roleItemOf(r access.Role, groups []fleet.Group, users int) roleItem {
	out := roleItem{
		Code: r.Code, Name: r.Name, Sort: r.Sort, Enabled: r.Enabled, ReadOnly: r.ReadOnly, Groups: []string{},
		Menus: append([]string{}, r.MenuCodes...), Users: users,
	}
	for _, g := range groups {
		if slices.Contains(r.Groups, g.ID) {
			out.Groups = append(out.Groups, g.Code)
		}
	}
	return out
}

// newRole handles GET /console/roles/new, from nothing or as a copy of another role.
func (p *pages) newRole(c *gin.Context) error {
	m := views.RoleForm{New: true, Enabled: true, Sort: "0"}
	var wish roleWish
	if from := c.Query("from"); from != "" {
		r, err := p.Roles.ByCode(c.Request.Context(), from)
		if err != nil {
			return err
		}
		given, err := p.menuCodes(c.Request.Context(), r)
		if err != nil {
			return err
		}
		m = formOfRole(r)
		m.New, m.From, m.Code, m.Name = true, r.Name, "", ""
		wish = roleWish{menus: given, groups: r.Groups}
	}
	return p.roleForm(c, m, wish, nil)
}

// menuCodes are the codes of the menus that a role bundles.
func (p *pages) menuCodes(ctx context.Context, r access.Role) ([]string, error) {
	menus, err := p.Menus.All(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range menus {
		if slices.Contains(r.Menus, m.ID) {
			out = append(out, m.Code)
		}
	}
	return out, nil
}

// editRole handles GET /console/roles/:role.
func (p *pages) editRole(c *gin.Context) error {
	ctx := c.Request.Context()
	r, err := p.Roles.ByCode(ctx, web.Param(c, "role"))
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		groups, err := p.Groups.List(ctx)
		if err != nil {
			return err
		}
		_, users, err := p.Users.List(ctx, access.UserFilter{Role: r.Code, PageSize: 1})
		if err != nil {
			return err
		}
		return web.Twin(c, roleItemOf(r, groups, users), nil)
	}
	given, err := p.menuCodes(ctx, r)
	if err != nil {
		return err
	}
	return p.roleForm(c, formOfRole(r), roleWish{menus: given, groups: r.Groups}, nil)
}
