package console

import (
	"context"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// roleWish is what a form gives to a role.
type roleWish struct {
	menus  []string
	groups []int64
}

func formOfRole(r access.Role) views.RoleForm {
	return views.RoleForm{
		Code: r.Code, Name: r.Name, Sort: strconv.Itoa(r.Sort), Enabled: r.Enabled, ReadOnly: r.ReadOnly, Limited: len(r.Groups) > 0,
	}
}

// createRole handles POST /console/roles.
func (p *pages) createRole(c *gin.Context) error {
	m, wish, err := roleFields(c)
	m.New, m.Code = true, text(c, "code")
	sort, bad := sortNumber(m.Sort)
	if err == nil {
		err = bad
	}
	if err == nil {
		_, err = p.Roles.Create(c.Request.Context(), access.NewRole{
			Code: m.Code, Name: m.Name, Sort: sort, Enabled: m.Enabled, Menus: wish.menus, ReadOnly: m.ReadOnly, Groups: wish.groups, By: actor(c),
		})
	}
	if err := p.recordChange(c, "role.create", m.Code, nil, roleFacts(m, wish), err); err != nil {
		return p.roleForm(c, m, wish, err)
	}
	return p.back(c, views.RolePath(m.Code), "created")
}

// roleFields reads the form. A role that is limited to no group at all would count nowhere by the form and everywhere by the
// rules, so it is refused.
func roleFields(c *gin.Context) (views.RoleForm, roleWish, error) {
	m := views.RoleForm{
		Name: text(c, "name"), Sort: text(c, "sort"), Enabled: c.PostForm("enabled") == "1", ReadOnly: c.PostForm("readonly") == "1",
		Limited: c.PostForm("reach") == "groups",
	}
	wish := roleWish{menus: c.PostFormArray("menu")}
	if !m.Limited {
		return m, wish, nil
	}
	for _, raw := range c.PostFormArray("group") {
		id, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			return m, wish, fault.New(fault.Invalid, "a group is named by a whole number").Field("groups", "a group is named by a whole number").Because(err)
		}
		wish.groups = append(wish.groups, id)
	}
	if len(wish.groups) == 0 {
		return m, wish, fault.New(fault.Invalid, "choose at least one group, or everywhere").Field("groups", "choose at least one group, or everywhere")
	}
	return m, wish, nil
}

// roleFacts is what the trail keeps of a form.
func roleFacts(m views.RoleForm, wish roleWish) map[string]any {
	menus := slices.Sorted(slices.Values(wish.menus))
	return map[string]any{
		"name": m.Name, "sort": m.Sort, "enabled": m.Enabled, "readOnly": m.ReadOnly, "groups": wish.groups, "menus": slices.Compact(menus),
	}
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

// saveRole handles PUT /console/roles/:role.
func (p *pages) saveRole(c *gin.Context) error {
	ctx := c.Request.Context()
	if err := complete(c, "name", "reach"); err != nil {
		return err
	}
	m, wish, err := roleFields(c)
	m.Code = web.Param(c, "role")
	before, missing := p.Roles.ByCode(ctx, m.Code)
	if missing != nil {
		return missing
	}
	given, missing := p.menuCodes(ctx, before)
	if missing != nil {
		return missing
	}
	sort, bad := sortNumber(m.Sort)
	if err == nil {
		err = bad
	}
	if err == nil {
		_, err = p.Roles.Update(ctx, m.Code, access.RolePatch{
			Name: &m.Name, Sort: &sort, Enabled: &m.Enabled, Menus: &wish.menus, ReadOnly: &m.ReadOnly, Groups: &wish.groups, By: actor(c),
		})
	}
	old := roleFacts(formOfRole(before), roleWish{menus: given, groups: before.Groups})
	if err := p.recordChange(c, "role.update", m.Code, old, roleFacts(m, wish), err); err != nil {
		return p.roleForm(c, m, wish, err)
	}
	return p.back(c, views.RolePath(m.Code), "saved")
}

// deleteRole handles POST /console/roles/:role/delete.
func (p *pages) deleteRole(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "role")
	before, err := p.Roles.ByCode(ctx, code)
	if err != nil {
		return err
	}
	given, err := p.menuCodes(ctx, before)
	if err != nil {
		return err
	}
	err = p.Roles.Delete(ctx, code)
	old := roleFacts(formOfRole(before), roleWish{menus: given, groups: before.Groups})
	if err := p.recordChange(c, "role.delete", code, old, nil, err); err != nil {
		return err
	}
	return web.Redirect(c, views.RolesPath, "said", "deleted")
}

// shownHolders is how many of those who have a role its page names.
const shownHolders = 20

func (p *pages) roleForm(c *gin.Context, m views.RoleForm, wish roleWish, refused error) error {
	ctx := c.Request.Context()
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	menus, err := p.Menus.All(ctx)
	if err != nil {
		return err
	}
	m.Fields, m.Said = fields, said(c)
	m.Menus = menuPicks(menus, wish.menus, p.mayGive(c))
	if err := p.addReach(c, &m, wish); err != nil {
		return err
	}
	if m.New {
		return web.Render(c, views.RoleFormPage(m))
	}
	if err := p.addHolders(ctx, &m); err != nil {
		return err
	}
	r := access.Role{Enabled: true, ReadOnly: m.ReadOnly, Groups: wish.groups}
	for _, one := range menus {
		if one.Value != "" && one.Status != access.MenuDisabled && slices.Contains(wish.menus, one.Code) && !r.Gives(one) {
			m.Idle = append(m.Idle, views.RightText(ctx, one.Value, views.MenuName(ctx, one.Code, one.Name)))
		}
	}
	return web.Render(c, views.RoleFormPage(m))
}

// mayGive says why the viewer cannot put a menu into a role, empty if he can: who is no administrator gives what he holds.
func (p *pages) mayGive(c *gin.Context) func(access.Menu) string {
	v, why := viewer(c), views.T(c.Request.Context(), "roles.menu_why")
	return func(m access.Menu) string {
		if v.Admin || m.Value != "" && v.HoldsMenu(m.Value) || slices.ContainsFunc(v.Menus, func(o access.Menu) bool { return o.ID == m.ID }) {
			return ""
		}
		return why
	}
}

// addReach adds the groups of nodes as a tree. A viewer whose own rights are limited can choose what lies in his groups.
func (p *pages) addReach(c *gin.Context, m *views.RoleForm, wish roleWish) error {
	groups, err := p.Groups.List(c.Request.Context())
	if err != nil {
		return err
	}
	tree, v := newGroupTree(groups), viewer(c)
	for _, g := range tree.sorted {
		choice := views.GroupChoice{ID: strconv.FormatInt(g.ID, 10), Code: g.Code, Name: g.Name, Depth: g.depth, On: slices.Contains(wish.groups, g.ID)}
		if scoped(c) && !v.HoldsIn(access.CodeNodes, p.Groups.Chain(g.ID)) {
			choice.Why = views.T(c.Request.Context(), "roles.group_why")
		}
		m.Groups = append(m.Groups, choice)
	}
	return nil
}

func (p *pages) addHolders(ctx context.Context, m *views.RoleForm) error {
	found, total, err := p.Users.List(ctx, access.UserFilter{Role: m.Code, PageSize: shownHolders})
	if err != nil {
		return err
	}
	m.UserCount = total
	for _, u := range found {
		m.Users = append(m.Users, views.UserRow{Account: u.Account, Name: u.Name, States: stateKeys(u, p.Now())})
	}
	return nil
}

// menuPicks lists all menus as a tree, each with its functions on its line; other rights below it have their own.
func menuPicks(menus []access.Menu, given []string, why func(access.Menu) string) []views.MenuChoice {
	var out []views.MenuChoice
	at := map[int64]int{} // where a menu stands in out
	for _, m := range menuTree(menus) {
		one := views.MenuChoice{
			Code: m.Code, Name: m.Name, Value: m.Value, Depth: m.depth, On: slices.Contains(given, m.Code), Button: isRight(m.Menu),
			Disabled: m.Status == access.MenuDisabled, Why: why(m.Menu),
		}
		if i, placed := at[m.Parent]; placed && one.Button && m.Parent != 0 {
			out[i].Rights = append(out[i].Rights, one)
			continue
		}
		at[m.ID] = len(out)
		out = append(out, one)
	}
	return out
}
