package console

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// mountAccess adds the pages that say who may do what, and what was done.
func (p *pages) mountAccess(root *gin.RouterGroup) {
	const users = access.CodeUsers
	p.route(root, http.MethodGet, "/users", p.listUsers, users)
	p.route(root, http.MethodGet, "/users.csv", p.exportUsers, users)
	p.form(root, http.MethodPost, "/users", p.createUser, users+"@ADD")
	p.route(root, http.MethodGet, "/users/:account", p.oneOrNew("account", p.newUser, p.editUser, users), users, users+"@ADD")
	p.form(root, http.MethodPut, "/users/:account", p.saveUser, users+"@EDIT")
	p.form(root, http.MethodPost, "/users/:account/lock", p.lockUser, users+"@EDIT")
	p.form(root, http.MethodPost, "/users/:account/password", p.resetPassword, users+"@EDIT")
	p.form(root, http.MethodPost, "/users/:account/logout", p.logoutUser, users+"@EDIT")
	p.form(root, http.MethodPost, "/users/:account/delete", p.deleteUser, users+"@DELETE")
	p.mountRoles(root)
	if p.Orgs != nil && p.Posts != nil {
		p.mountOrgs(root)
		p.mountPosts(root)
	}
	if p.Dicts != nil {
		p.mountDicts(root)
	}
	if p.OpenAPIs != nil {
		p.mountOpenAPIs(root)
	}
	if p.Online != nil {
		p.mountOnline(root)
	}
	if p.ServerLog != nil {
		p.mountServerLog(root)
	}
	p.mountMenus(root)
	p.mountAudit(root)
}

// oneOrNew shares an address between the form for a new thing and the things themselves: "new" is the form, unless a thing of
// that name is asked for. Each needs its own right.
func (p *pages) oneOrNew(param string, form, one func(*gin.Context) error, code string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		if web.Param(c, param) == "new" && c.Query("item") == "" {
			if err := web.Permit(viewer(c), code+"@ADD"); err != nil {
				return err
			}
			return form(c)
		}
		if err := web.Permit(viewer(c), code); err != nil {
			return err
		}
		return one(c)
	}
}

// userFilter is what the list and its export select.
func (p *pages) userFilter(ctx context.Context, q views.UserQuery) (access.UserFilter, error) {
	f := access.UserFilter{Query: q.Text, Role: q.Role, Org: q.Org, Post: q.Post, Order: access.UserOrder(q.Order), State: access.UserState(q.State)}
	if q.State == views.UserOnline {
		online, err := p.Sessions.Accounts(ctx)
		if err != nil {
			return f, err
		}
		f.State, f.Among = "", append([]string{}, online[:min(len(online), maxOnline)]...)
	}
	return f, nil
}

// maxOnline bounds how many accounts one question to the database names.
const maxOnline = 5000

// listUsers handles GET /console/users.
func (p *pages) listUsers(c *gin.Context) error {
	ctx := c.Request.Context()
	q := views.ParseUserQuery(c.Request.URL.Query())
	size := pageSize(c, &q.Size)
	f, err := p.userFilter(ctx, q)
	if err != nil {
		return err
	}
	f.Page, f.PageSize = max(q.Page, 1), size
	found, total, err := p.Users.List(ctx, f)
	if err != nil {
		return err
	}
	m := views.UserList{Filter: q, Said: said(c)}
	m.Pager = views.Paged(q.Page, size, total, func(page, n int) string { return q.At(page, n).Path(views.UsersPath) })
	if m.Pager.Page != f.Page { // past the end: show the last page
		f.Page = m.Pager.Page
		if found, _, err = p.Users.List(ctx, f); err != nil {
			return err
		}
	}
	if m.Rows, err = p.userRows(ctx, found); err != nil {
		return err
	}
	m.Placed = slices.ContainsFunc(found, func(u access.User) bool { return u.Org != 0 || u.Post != 0 })
	if web.PrefersJSON(c.Request) {
		return web.Twin(c, userTwin(m.Rows, total), nil)
	}
	if err := p.addUserChips(ctx, &m, q); err != nil {
		return err
	}
	return web.Twin(c, nil, views.UserListPage(m), views.UsersFragment)
}

// addUserChips counts the states of what the rest of the filter selects, and names the roles to filter for.
func (p *pages) addUserChips(ctx context.Context, m *views.UserList, q views.UserQuery) error {
	plain := q
	plain.State = ""
	f, err := p.userFilter(ctx, plain)
	if err != nil {
		return err
	}
	counts, err := p.Users.Counts(ctx, f)
	if err != nil {
		return err
	}
	plain.State = views.UserOnline
	online, err := p.userFilter(ctx, plain)
	if err != nil {
		return err
	}
	online.PageSize = 1
	_, here, err := p.Users.List(ctx, online)
	if err != nil {
		return err
	}
	counts[views.UserOnline] = here
	for _, s := range views.UserStateKeys {
		if n := counts[access.UserState(s)]; n > 0 || q.State == s {
			m.Chips = append(m.Chips, views.FilterChip{Kind: "state", Label: views.Sayf("user.state." + s), Count: n, On: q.State == s, Path: q.Toggled(s).Path(views.UsersPath)})
		}
	}
	if _, m.All, err = p.Users.List(ctx, access.UserFilter{PageSize: 1}); err != nil {
		return err
	}
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return err
	}
	m.Roles = roleChoices(roles, nil)
	return p.addOrgsAndPosts(ctx, &m.Orgs, &m.Posts)
}

// userRows adds to users what other tables and the sessions know.
func (p *pages) userRows(ctx context.Context, users []access.User) ([]views.UserRow, error) {
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return nil, err
	}
	last, err := p.Users.LastLogins(ctx, users)
	if err != nil {
		return nil, err
	}
	online, err := p.Sessions.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]views.UserRow, 0, len(users))
	for _, u := range users {
		r := views.UserRow{
			Account: u.Account, Name: u.Name, Roles: rolesOf(u, roles), States: stateKeys(u, p.Now()), Created: u.Created,
			Expires: u.ExpiresAt, LastLogin: last[u.Account], Org: u.OrgName, Post: u.PostName,
		}
		if slices.Contains(online, u.Account) {
			sessions, err := p.Sessions.Of(ctx, u.Account)
			if err != nil {
				return nil, err
			}
			r.Sessions = len(sessions)
			for _, s := range sessions {
				if s.Created.After(r.LastLogin) {
					r.LastLogin = s.Created
				}
			}
		}
		out = append(out, r)
	}
	return out, nil
}

func stateKeys(u access.User, now time.Time) []string {
	var out []string
	for _, s := range u.States(now) {
		out = append(out, string(s))
	}
	return out
}

// rolesOf are the roles of a user, in the order of all.
func rolesOf(u access.User, all []access.Role) []views.RoleChoice {
	return roleChoices(slices.DeleteFunc(slices.Clone(all), func(r access.Role) bool { return !slices.Contains(u.RoleCodes, r.Code) }), u.RoleCodes)
}

func roleChoices(all []access.Role, on []string) []views.RoleChoice {
	out := make([]views.RoleChoice, 0, len(all))
	for _, r := range all {
		out = append(out, views.RoleChoice{
			Code: r.Code, Name: r.Name, On: slices.Contains(on, r.Code), Enabled: r.Enabled, ReadOnly: r.ReadOnly, Limited: len(r.Groups) > 0,
		})
	}
	return out
}

// userItem is an account as scripts get it; its names are those of the API.
type userItem struct {
	Account   string    `json:"account"`
	Name      string    `json:"name"`
	Roles     []string  `json:"roles"`
	States    []string  `json:"states"`
	Created   time.Time `json:"created,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	LastLogin time.Time `json:"lastLogin,omitzero"`
	Sessions  int       `json:"sessions"`
	Org       string    `json:"org,omitempty"`  // name
	Post      string    `json:"post,omitempty"` // name
}

// listTwin is a list as scripts get it.
type listTwin[T any] struct {
	Items []T    `json:"items"`
	Total *int   `json:"total,omitempty"` // of lists that are counted
	Older string `json:"older,omitempty"` // of lists that are not: where the next page begins
}

func userTwin(rows []views.UserRow, total int) listTwin[userItem] {
	out := listTwin[userItem]{Items: []userItem{}, Total: &total}
	for _, r := range rows {
		out.Items = append(out.Items, userItem{
			Account: r.Account, Name: r.Name, Roles: codesOf(r.Roles), States: append([]string{}, r.States...), Created: r.Created, Expires: r.Expires,
			LastLogin: r.LastLogin, Sessions: r.Sessions, Org: r.Org, Post: r.Post,
		})
	}
	return out
}

func codesOf(roles []views.RoleChoice) []string {
	out := make([]string, 0, len(roles))
	for _, r := range roles {
		out = append(out, r.Code)
	}
	return out
}

// exportUsers handles GET /console/users.csv: the accounts of the filter, page by page.
func (p *pages) exportUsers(c *gin.Context) error {
	ctx := c.Request.Context()
	q := views.ParseUserQuery(c.Request.URL.Query())
	f, err := p.userFilter(ctx, q)
	if err != nil {
		return err
	}
	f.PageSize = exportPage
	lang := views.FrameOf(ctx).Lang
	rows := func(yield func([]any, error) bool) {
		for f.Page = 1; ; f.Page++ {
			found, total, err := p.Users.List(ctx, f)
			var rows []views.UserRow
			if err == nil {
				rows, err = p.userRows(ctx, found)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i, r := range rows {
				u := found[i]
				var states []string
				for _, s := range r.States {
					states = append(states, views.Text(lang, "user.state."+s))
				}
				cells := []any{u.Account, u.Name, u.Email, u.Phone, strings.Join(codesOf(r.Roles), " "), strings.Join(states, ", "), u.Created, u.ExpiresAt,
					r.LastLogin, r.Sessions, u.AllowedIPs, u.Remark, r.Org, r.Post}
				if !yield(cells, nil) {
					return
				}
			}
			if f.Page*exportPage >= total {
				return
			}
		}
	}
	return web.CSV(c, "users", titles(ctx, "users.account", "users.name", "users.email", "users.phone", "users.roles", "nodes.state", "node.created",
		"users.expires", "users.last_login", "users.sessions", "users.addresses", "node.remark", "orgs.org", "posts.post"), iter.Seq2[[]any, error](rows))
}

// exportPage is how many rows an export asks for at once.
const exportPage = 500

// titles are the heads of an export's columns in the viewer's language.
func titles(ctx context.Context, keys ...string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = views.T(ctx, k)
	}
	return out
}
