package console

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// mountGroups adds the group tree and the configurations of groups.
func (p *pages) mountGroups(root *gin.RouterGroup) {
	const add, edit, del = access.CodeGroups + "@ADD", access.CodeGroups + "@EDIT", access.CodeGroups + "@DELETE"
	p.route(root, http.MethodGet, "/groups", p.listGroups, access.CodeGroups)
	p.route(root, http.MethodGet, "/groups.csv", p.exportGroups, access.CodeGroups)
	p.route(root, http.MethodGet, "/groups/new", p.newGroup, add)
	p.form(root, http.MethodPost, "/groups", p.createGroup, add)
	p.route(root, http.MethodGet, "/groups/:group", p.editGroup, access.CodeGroups)
	p.form(root, http.MethodPut, "/groups/:group", p.saveGroup, edit)
	p.form(root, http.MethodPost, "/groups/:group/delete", p.deleteGroup, del)
	p.mountConfig(root, "/groups/:group/config", access.CodeGroups, edit, p.groupConfig)
}

// listGroups handles GET /console/groups.
func (p *pages) listGroups(c *gin.Context) error {
	states, tree, err := p.fleet(c, access.CodeGroups)
	if err != nil {
		return err
	}
	m := views.GroupTree{Side: configSide(states, tree, ""), Said: said(c)}
	for _, g := range tree.sorted {
		row := views.GroupRow{Code: g.Code, Name: tree.name(g.Code), Remark: g.Remark, Depth: g.depth, Revision: g.Revision}
		row.Nodes, row.Below = tree.count(states, g.Code)
		m.Rows = append(m.Rows, row)
	}
	return web.Twin(c, groupTwin(states, tree), views.GroupTreePage(m))
}

// count returns the nodes in a group, and with those of the groups below it.
func (t *groupTree) count(states []*nodeState, code string) (own, all int) {
	for _, s := range states {
		if s.node.Group == code {
			own++
		}
		if t.holds(code, s.node.Group) {
			all++
		}
	}
	return own, all
}

// newGroup handles GET /console/groups/new.
func (p *pages) newGroup(c *gin.Context) error {
	return p.groupForm(c, views.GroupForm{New: true, Parent: c.Query("parent")}, nil)
}

// createGroup handles POST /console/groups.
func (p *pages) createGroup(c *gin.Context) error {
	m := views.GroupForm{New: true, Code: text(c, "code"), Name: text(c, "name"), Parent: text(c, "parent"), Remark: text(c, "remark")}
	err := p.mayHang(c, access.CodeGroups+"@ADD", m.Parent)
	if err == nil {
		_, err = p.Groups.Create(c.Request.Context(), fleet.NewGroup{
			Code: m.Code, Name: m.Name, Parent: m.Parent, Remark: m.Remark, By: viewer(c).Account,
		})
	}
	if err := p.record(c, "group.create", m.Code, err); err != nil {
		return p.groupForm(c, m, err)
	}
	return web.Redirect(c, "/console/groups", "said", "created")
}

// mayHang is mayPlace for a group that is hung below another one, or made a root.
func (p *pages) mayHang(c *gin.Context, code, parent string) error {
	err := p.mayPlace(c, code, parent)
	if f := fault.Of(err); err != nil && f.Fields["group"] != "" {
		return fault.New(f.Code, f.Format, f.Args...).Field("parent", f.Format, f.Args...)
	}
	return err
}

// groupFor reads the group of the address. fault.NotFound if there is none, fault.Forbidden unless the viewer holds code for it.
func (p *pages) groupFor(c *gin.Context, code string) (fleet.Group, error) {
	g, err := p.Groups.ByCode(c.Request.Context(), c.Param("group"))
	if err != nil {
		return fleet.Group{}, err
	}
	return g, p.mayGroup(c, code, &g)
}

// editGroup handles GET /console/groups/:group.
func (p *pages) editGroup(c *gin.Context) error {
	g, err := p.groupFor(c, access.CodeGroups)
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		states, tree, err := p.fleet(c, access.CodeGroups)
		if err != nil {
			return err
		}
		return web.Twin(c, groupItemOf(g, states, tree), nil)
	}
	return p.groupForm(c, views.GroupForm{Code: g.Code, Name: g.Name, Remark: g.Remark, Parent: unknownParent}, nil)
}

// unknownParent lets groupForm look the parent up.
const unknownParent = "\x00"

// saveGroup handles PUT /console/groups/:group: name, remark, and where it hangs.
func (p *pages) saveGroup(c *gin.Context) error {
	if err := complete(c, "name"); err != nil {
		return err
	}
	g, err := p.groupFor(c, access.CodeGroups+"@EDIT")
	if err != nil {
		return err
	}
	m := views.GroupForm{Code: g.Code, Name: text(c, "name"), Parent: text(c, "parent"), Remark: text(c, "remark")}
	patch := fleet.GroupPatch{Name: &m.Name, Parent: &m.Parent, Remark: &m.Remark, By: viewer(c).Account}
	switch {
	case m.Parent == g.Parent:
	case m.Parent == views.KeepParent: // it hangs below a group that the viewer does not see, and stays there
		patch.Parent = nil
	default:
		if err = p.mayHang(c, access.CodeGroups+"@EDIT", m.Parent); err == nil {
			err = p.mayMove(c, g.ID, m.Parent, refuseGroup(g))
		}
	}
	if err == nil {
		_, err = p.Groups.Update(c.Request.Context(), m.Code, patch)
	}
	if err := p.record(c, "group.update", m.Code, err); err != nil {
		return p.groupForm(c, m, err)
	}
	return web.Redirect(c, views.GroupPath(m.Code, ""), "said", "saved")
}

// deleteGroup handles POST /console/groups/:group/delete.
func (p *pages) deleteGroup(c *gin.Context) error {
	g, err := p.groupFor(c, access.CodeGroups+"@DELETE")
	if err != nil {
		return err
	}
	code := g.Code
	err = p.Groups.Delete(c.Request.Context(), code, viewer(c).Account)
	if err := p.record(c, "group.delete", code, err); err != nil {
		return err
	}
	return web.Redirect(c, "/console/groups", "said", "deleted")
}

func (p *pages) groupForm(c *gin.Context, m views.GroupForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	states, tree, err := p.fleet(c, access.CodeGroups)
	if err != nil {
		return err
	}
	m.Fields, m.Said = fields, said(c)
	without := m.Code
	if m.New {
		without = ""
	}
	may := access.CodeGroups + "@EDIT"
	if m.New {
		may = access.CodeGroups + "@ADD"
	}
	m.MustHang = !p.holds(viewer(c), may, 0)
	for _, o := range tree.options(without) {
		if p.holds(viewer(c), may, tree.byCode[o.Code].ID) {
			m.Parents = append(m.Parents, o)
		}
	}
	if own := tree.byCode[m.Code]; !m.New {
		parent, seen := tree.byID[own.ParentID]
		if m.Parent == unknownParent {
			m.Parent = parent.Code
		}
		m.Fixed = own.ParentID != 0 && (!seen || !p.holds(viewer(c), may, own.ParentID))
	}
	m.Can = p.can(c, tree.byCode[m.Code].ID)
	current := ""
	if !m.New {
		m.Nodes, _ = tree.count(states, m.Code)
		m.Children = len(tree.children[tree.byCode[m.Code].ID])
		current = "group:" + m.Code
	}
	m.Side = configSide(states, tree, current)
	return web.Render(c, views.GroupFormPage(m))
}
