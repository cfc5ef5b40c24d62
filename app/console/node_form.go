package console

import (
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// newNode handles GET /console/nodes/new.
func (p *pages) newNode(c *gin.Context) error {
	return p.nodeForm(c, views.NodeForm{Enabled: true, Group: c.Query("group")}, nil)
}

// createNode handles POST /console/nodes. Its answer is the only page that shows a token unasked: the new node's, once.
func (p *pages) createNode(c *gin.Context) error {
	m := views.NodeForm{
		Name: text(c, "name"), Display: text(c, "display"), Group: text(c, "group"), Duty: text(c, "duty"),
		Remark: text(c, "remark"), Enabled: c.PostForm("enabled") == "1", Core: c.PostForm("core") == "1",
	}
	node, token, err := p.Nodes.Create(c.Request.Context(), fleet.NewNode{
		Name: m.Name, Display: m.Display, Group: m.Group, Duty: list(m.Duty), Remark: m.Remark, Enabled: m.Enabled,
		Core: m.Core, By: viewer(c).Account,
	})
	if err := p.record(c, "node.create", m.Name, err); err != nil {
		return p.nodeForm(c, m, err)
	}
	states, tree, err := p.fleet(c.Request.Context())
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.Set(unpacked, true)
	return web.Render(c, views.NodeCreatedPage(views.NodeCreated{
		Name: node.Name, Connect: p.snippet(c, node.Name, token), Side: groupSide(states, tree, views.NodeQuery{}),
	}))
}

// nodeForm shows the form, with what was wrong with it.
func (p *pages) nodeForm(c *gin.Context, m views.NodeForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	states, tree, err := p.fleet(c.Request.Context())
	if err != nil {
		return err
	}
	m.Fields, m.Groups, m.Side = fields, tree.options(""), groupSide(states, tree, views.NodeQuery{})
	return web.Render(c, views.NodeFormPage(m), views.NodeFormFragment)
}

// nodeSettings handles GET /console/nodes/:node/settings.
func (p *pages) nodeSettings(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabSettings)
	if err != nil {
		return err
	}
	node := n.state.node
	return p.settingsForm(c, n, views.NodeSettings{
		Display: node.Display, Group: node.Group, Duty: strings.Join(node.Duty, ", "), Remark: node.Remark, Core: node.Core,
		RawSession: node.RawSession,
	}, nil)
}

// saveNode handles PUT /console/nodes/:node/settings.
func (p *pages) saveNode(c *gin.Context) error {
	if err := complete(c, "display"); err != nil {
		return err
	}
	m := views.NodeSettings{
		Display: text(c, "display"), Group: text(c, "group"), Duty: text(c, "duty"), Remark: text(c, "remark"),
		Core: c.PostForm("core") == "1", RawSession: c.PostForm("raw") == "1",
	}
	name, duty := c.Param("node"), list(m.Duty)
	patch := fleet.NodePatch{
		Display: &m.Display, Group: &m.Group, Remark: &m.Remark, Core: &m.Core, RawSession: &m.RawSession, Duty: &duty,
		By: viewer(c).Account,
	}
	var err error
	if !viewer(c).Admin { // whoever has a node's address could else have the sessions of admins sent to it
		patch.RawSession, err = nil, p.keepsSessions(c, name, m.RawSession)
	}
	if err == nil {
		_, err = p.Nodes.Update(c.Request.Context(), name, patch)
	}
	if err := p.record(c, "node.update", name, err); err != nil {
		return p.refusedSettings(c, m, err)
	}
	return web.Redirect(c, views.NodePath(name, views.TabSettings), "said", "saved")
}

// keepsSessions refuses the wish that a node gets the sessions' own tokens, unless it does already.
func (p *pages) keepsSessions(c *gin.Context, name string, raw bool) error {
	node, err := p.Nodes.ByName(c.Request.Context(), name)
	if err != nil || !raw || node.RawSession {
		return err
	}
	return fault.New(fault.Forbidden, "only an administrator may hand the sessions' own tokens to a node").
		Field("raw", "only an administrator may hand the sessions' own tokens to a node")
}

func (p *pages) refusedSettings(c *gin.Context, m views.NodeSettings, refused error) error {
	n, err := p.nodePage(c, views.TabSettings)
	if err != nil {
		return err
	}
	return p.settingsForm(c, n, m, refused)
}

func (p *pages) settingsForm(c *gin.Context, n nodePage, m views.NodeSettings, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	m.NodeHead, m.Fields, m.Groups = n.head, fields, n.tree.options("")
	return web.Render(c, views.NodeSettingsPage(m), views.NodeFormFragment, views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// enableNode handles PUT /console/nodes/:node/enabled.
func (p *pages) enableNode(c *gin.Context) error {
	wish := c.PostForm("enabled")
	if wish != "0" && wish != "1" {
		return fault.New(fault.Invalid, "the form is not complete").Field("enabled", "must be 0 or 1")
	}
	name, on := c.Param("node"), wish == "1"
	action, word := "node.disable", "disabled"
	if on {
		action, word = "node.enable", "enabled"
	}
	_, err := p.Nodes.Update(c.Request.Context(), name, fleet.NodePatch{Enabled: &on, By: viewer(c).Account})
	if err := p.record(c, action, name, err); err != nil {
		return err
	}
	back := c.PostForm("back")
	if back == "" {
		back = views.NodePath(name, "")
	}
	return p.back(c, back, word)
}

// deleteNode handles POST /console/nodes/:node/delete: the name has to be typed.
func (p *pages) deleteNode(c *gin.Context) error {
	name := c.Param("node")
	if typed := c.PostForm("confirm"); typed != name {
		wrong := fault.New(fault.Invalid, "type the name exactly to delete the node").Field("confirm", "type the name exactly to delete the node")
		n, err := p.nodePage(c, views.TabSettings)
		if err != nil {
			return err
		}
		node := n.state.node
		return p.settingsForm(c, n, views.NodeSettings{
			Display: node.Display, Group: node.Group, Duty: strings.Join(node.Duty, ", "), Remark: node.Remark, Core: node.Core,
			RawSession: node.RawSession, Typed: typed,
		}, wrong)
	}
	err := p.Nodes.Delete(c.Request.Context(), name, viewer(c).Account)
	if err := p.record(c, "node.delete", name, err); err != nil {
		return err
	}
	return web.Redirect(c, "/console/nodes", "said", "deleted")
}
