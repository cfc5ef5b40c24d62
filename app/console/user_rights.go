package console

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"eruptcloud/app/access"
	"eruptcloud/views"
)

// explained is what an account may do and why.
type explained struct {
	list   []explainedRight
	notes  []views.Say
	groups map[int64]views.GroupOption // of nodes, by id
}

// explainedRight is a right, where it counts, and the roles that give it.
type explainedRight struct {
	menu     access.Menu
	anywhere bool
	groups   []int64
	roles    []views.RoleChoice
}

func (r explainedRight) groupCodes(e explained) []string {
	var out []string
	for _, id := range r.groups {
		if !r.anywhere {
			out = append(out, e.groups[id].Code)
		}
	}
	return out
}

// rightsOf explains the rights of a user by his roles, as a login would find them now.
func (p *pages) rightsOf(ctx context.Context, u access.User) (explained, error) {
	out := explained{groups: map[int64]views.GroupOption{}}
	states := u.States(p.Now())
	if !slices.Contains(states, access.UserActive) {
		out.notes = append(out.notes, views.Sayf("rights.no_login"))
	}
	if u.Admin {
		out.notes = append(out.notes, views.Sayf("rights.everything"))
		return out, nil
	}
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return out, err
	}
	menus, err := p.Menus.All(ctx)
	if err != nil {
		return out, err
	}
	groups, err := p.Groups.List(ctx)
	if err != nil {
		return out, err
	}
	for _, g := range groups {
		out.groups[g.ID] = views.GroupOption{Code: g.Code, Name: g.Name}
	}
	found := map[int64]*explainedRight{}
	for _, r := range roles {
		if !slices.Contains(u.RoleCodes, r.Code) {
			continue
		}
		if !r.Enabled {
			out.notes = append(out.notes, views.Sayf("rights.role_off", "role", r.Name))
		}
		for _, m := range menus {
			if slices.Contains(r.Menus, m.ID) && r.Gives(m) {
				x := found[m.ID]
				if x == nil {
					x = &explainedRight{menu: m}
					found[m.ID] = x
				}
				x.anywhere = x.anywhere || len(r.Groups) == 0
				x.groups = append(x.groups, r.Groups...)
				x.roles = append(x.roles, roleChoices([]access.Role{r}, nil)...)
			}
		}
	}
	for _, m := range menus { // in the order of the menus
		if x := found[m.ID]; x != nil {
			slices.Sort(x.groups)
			x.groups = slices.Compact(x.groups)
			out.list = append(out.list, *x)
		}
	}
	if len(out.list) == 0 {
		out.notes = append(out.notes, views.Sayf("rights.none"))
	}
	return out, nil
}

// The areas in which rights are shown.
var rightAreas = []string{"nodes", "admin", "pages", "other"}

// areaOf sorts a code into one of the areas.
func areaOf(code string) string {
	page, _, _ := strings.Cut(code, "@")
	switch lower := strings.ToLower(page); {
	case strings.HasPrefix(lower, "cloud"), lower == access.CodeNodeLog:
		return "nodes"
	case strings.HasPrefix(lower, "erupt") && !strings.Contains(page, "."):
		return "admin"
	case strings.ContainsAny(page, "./"):
		return "pages"
	}
	return "other"
}

// areas writes the rights in the viewer's language.
func (e explained) areas(ctx context.Context) []views.RightArea {
	byArea := map[string][]views.RightLine{}
	for _, r := range e.list {
		line := views.RightLine{Code: r.menu.Value, Text: views.RightText(ctx, r.menu.Value, cmp.Or(r.menu.Name, r.menu.Value)), Roles: r.roles}
		if !r.anywhere {
			var names []string
			for _, id := range r.groups {
				names = append(names, cmp.Or(e.groups[id].Name, views.T(ctx, "rights.group_gone")))
			}
			line.Where = views.T(ctx, "rights.in", "groups", strings.Join(names, ", "))
		}
		area := areaOf(r.menu.Value)
		byArea[area] = append(byArea[area], line)
	}
	var out []views.RightArea
	for _, a := range rightAreas {
		if len(byArea[a]) > 0 {
			out = append(out, views.RightArea{Title: views.T(ctx, "rights.area."+a), Lines: byArea[a]})
		}
	}
	return out
}
