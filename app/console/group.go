package console

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// mountGroups adds the group tree and the configurations of groups.
func (p *pages) mountGroups(root *gin.RouterGroup) {
	const add, edit, del = access.CodeGroups + "@ADD", access.CodeGroups + "@EDIT", access.CodeGroups + "@DELETE"
	p.route(root, http.MethodGet, "/groups", p.listGroups, access.CodeGroups)
	p.route(root, http.MethodGet, "/groups/new", p.newGroup, add)
	p.form(root, http.MethodPost, "/groups", p.createGroup, add)
	p.route(root, http.MethodGet, "/groups/:group", p.editGroup, access.CodeGroups)
	p.form(root, http.MethodPut, "/groups/:group", p.saveGroup, edit)
	p.form(root, http.MethodPost, "/groups/:group/delete", p.deleteGroup, del)
	p.mountConfig(root, "/groups/:group/config", access.CodeGroups, edit, p.groupConfig)
}

// listGroups handles GET /console/groups.
func (p *pages) listGroups(c *gin.Context) error {
	states, tree, err := p.fleet(c.Request.Context())
	if err != nil {
		return err
	}
	m := views.GroupTree{Side: configSide(states, tree, ""), Said: said(c)}
	for _, g := range tree.sorted {
		row := views.GroupRow{Code: g.Code, Name: tree.name(g.Code), Remark: g.Remark, Depth: g.depth, Revision: g.Revision}
		row.Nodes, row.Below = tree.count(states, g.Code)
		m.Rows = append(m.Rows, row)
	}
	return web.Render(c, views.GroupTreePage(m))
}

// count returns the nodes in a group, and with those of the groups below it.
func (t *groupTree) count(states []nodeState, code string) (own, all int) {
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
	_, err := p.Groups.Create(c.Request.Context(), fleet.NewGroup{
		Code: m.Code, Name: m.Name, Parent: m.Parent, Remark: m.Remark, By: viewer(c).Account,
	})
	if err := p.record(c, "group.create", m.Code, err); err != nil {
		return p.groupForm(c, m, err)
	}
	return web.Redirect(c, "/console/groups", "said", "created")
}

// editGroup handles GET /console/groups/:group.
func (p *pages) editGroup(c *gin.Context) error {
	g, err := p.Groups.ByCode(c.Request.Context(), c.Param("group"))
	if err != nil {
		return err
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
	m := views.GroupForm{Code: c.Param("group"), Name: text(c, "name"), Parent: text(c, "parent"), Remark: text(c, "remark")}
	_, err := p.Groups.Update(c.Request.Context(), m.Code, fleet.GroupPatch{
		Name: &m.Name, Parent: &m.Parent, Remark: &m.Remark, By: viewer(c).Account,
	})
	if err := p.record(c, "group.update", m.Code, err); err != nil {
		return p.groupForm(c, m, err)
	}
	return web.Redirect(c, views.GroupPath(m.Code, ""), "said", "saved")
}

// deleteGroup handles POST /console/groups/:group/delete.
func (p *pages) deleteGroup(c *gin.Context) error {
	code := c.Param("group")
	err := p.Groups.Delete(c.Request.Context(), code, viewer(c).Account)
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
	states, tree, err := p.fleet(c.Request.Context())
	if err != nil {
		return err
	}
	m.Fields, m.Said = fields, said(c)
	without := m.Code
	if m.New {
		without = ""
	}
	m.Parents = tree.options(without)
	if m.Parent == unknownParent {
		m.Parent = tree.byID[tree.byCode[m.Code].ParentID].Code
	}
	current := ""
	if !m.New {
		m.Nodes, _ = tree.count(states, m.Code)
		m.Children = len(tree.children[tree.byCode[m.Code].ID])
		current = "group:" + m.Code
	}
	m.Side = configSide(states, tree, current)
	return web.Render(c, views.GroupFormPage(m))
}
