package console

import (
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
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
	var node fleet.Node
	var token string
	err := p.mayPlace(c, access.CodeNodes+"@ADD", m.Group)
	if err == nil {
		node, token, err = p.Nodes.Create(c.Request.Context(), fleet.NewNode{
			Name: m.Name, Display: m.Display, Group: m.Group, Duty: list(m.Duty), Remark: m.Remark, Enabled: m.Enabled,
			Core: m.Core, By: viewer(c).Account,
		})
	}
	if err := p.record(c, "node.create", m.Name, err); err != nil {
		return p.nodeForm(c, m, err)
	}
	p.tell(history.Event{Node: node.Name, Kind: history.Created, Account: viewer(c).Account})
	states, tree, err := p.fleet(c, access.CodeNodes)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.Set(unpacked, true)
	return web.Render(c, views.NodeCreatedPage(views.NodeCreated{
		Name: node.Name, Connect: p.snippet(c, node, token), Side: groupSide(states, tree, views.NodeQuery{}),
	}))
}

// mayPlace returns fault.Forbidden, at the field "group", unless the viewer holds code for the group with that code; empty is
// the place beside all groups. A group that does not exist is for the domain to refuse.
func (p *pages) mayPlace(c *gin.Context, code, group string) error {
	var g *fleet.Group
	if group != "" {
		found, err := p.Groups.ByCode(c.Request.Context(), group)
		if fault.Is(err, fault.NotFound) {
			return nil
		} else if err != nil {
			return err
		}
		g = &found
	}
	err := p.mayGroup(c, code, g)
	if err != nil {
		f := fault.Of(err)
		return f.Field("group", f.Format, f.Args...)
	}
	return nil
}

// places are the groups that the viewer may put nodes into by code.
func (p *pages) places(c *gin.Context, code string) ([]views.GroupOption, error) {
	all, err := p.Groups.List(c.Request.Context())
	if err != nil {
		return nil, err
	}
	return newGroupTree(p.visibleGroups(c, code, all)).options(""), nil
}

// nodeForm shows the form, with what was wrong with it.
func (p *pages) nodeForm(c *gin.Context, m views.NodeForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	states, tree, err := p.fleet(c, access.CodeNodes)
	if err != nil {
		return err
	}
	m.Fields, m.Side = fields, groupSide(states, tree, views.NodeQuery{})
	if m.Groups, err = p.places(c, access.CodeNodes+"@ADD"); err != nil {
		return err
	}
	m.MustPlace = !p.holds(viewer(c), access.CodeNodes+"@ADD", 0)
	return web.Render(c, views.NodeFormPage(m), views.NodeFormFragment)
}

// nodeSettings handles GET /console/nodes/:node/settings.
func (p *pages) nodeSettings(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabSettings)
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		return web.Twin(c, settingsTwin(n.state.node), nil)
	}
	return p.settingsForm(c, n, settingsOf(n.state.node), nil)
}

func settingsOf(n fleet.Node) views.NodeSettings {
	return views.NodeSettings{
		Display: n.Display, Group: n.Group, Duty: strings.Join(n.Duty, ", "), Remark: n.Remark, Core: n.Core, RawSession: n.RawSession,
	}
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
	node, err := p.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	name, duty := node.Name, list(m.Duty)
	patch := fleet.NodePatch{
		Display: &m.Display, Group: &m.Group, Remark: &m.Remark, Core: &m.Core, RawSession: &m.RawSession, Duty: &duty,
		By: viewer(c).Account,
	}
	if m.Group != node.Group { // whoever moves a node gives it to those of the other group
		if err = p.mayPlace(c, access.CodeNodes+"@EDIT", m.Group); err == nil {
			err = p.mayMove(c, node.GroupID, m.Group, refuseNode(node))
		}
	}
	if err == nil && !viewer(c).Admin { // whoever has a node's address could else have the sessions of admins sent to it
		patch.RawSession, err = nil, keepsSessions(node, m.RawSession)
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
func keepsSessions(node fleet.Node, raw bool) error {
	if !raw || node.RawSession {
		return nil
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
	m.NodeHead, m.Fields = n.head, fields
	may := access.CodeNodes + "@EDIT"
	if !n.head.May(c.Request.Context(), may) {
		may = access.CodeNodes
	}
	if m.Groups, err = p.places(c, may); err != nil {
		return err
	}
	m.MustPlace = n.state.node.GroupID != 0 && !p.holds(viewer(c), may, 0)
	return web.Render(c, views.NodeSettingsPage(m), views.NodeFormFragment, views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// enableNode handles PUT /console/nodes/:node/enabled.
func (p *pages) enableNode(c *gin.Context) error {
	wish := c.PostForm("enabled")
	if wish != "0" && wish != "1" {
		return fault.New(fault.Invalid, "the form is not complete").Field("enabled", "must be 0 or 1")
	}
	node, err := p.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	name, word := node.Name, "disabled"
	if wish == "1" {
		word = "enabled"
	}
	if err := p.switchNode(c, node, wish == "1"); err != nil {
		return err
	}
	back := c.PostForm("back")
	if back == "" {
		back = views.NodePath(name, "")
	}
	return p.back(c, back, word)
}

// switchNode enables or disables a node.
func (p *pages) switchNode(c *gin.Context, node fleet.Node, on bool) error {
	action, kind := "node.disable", history.Disabled
	if on {
		action, kind = "node.enable", history.Enabled
	}
	_, err := p.Nodes.Update(c.Request.Context(), node.Name, fleet.NodePatch{Enabled: &on, By: viewer(c).Account})
	if err := p.record(c, action, node.Name, err); err != nil {
		return err
	}
	if node.Enabled != on {
		p.tell(history.Event{Node: node.Name, Kind: kind, Account: viewer(c).Account})
	}
	return nil
}

// deleteNode handles POST /console/nodes/:node/delete: the name has to be typed.
func (p *pages) deleteNode(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodes+"@DELETE")
	if err != nil {
		return err
	}
	name := node.Name
	if typed := c.PostForm("confirm"); typed != name {
		wrong := fault.New(fault.Invalid, "type the name exactly to delete the node").Field("confirm", "type the name exactly to delete the node")
		n, err := p.nodePage(c, views.TabSettings)
		if err != nil {
			return err
		}
		m := settingsOf(node)
		m.Typed = typed
		return p.settingsForm(c, n, m, wrong)
	}
	err = p.Nodes.Delete(c.Request.Context(), name, viewer(c).Account)
	if err := p.record(c, "node.delete", name, err); err != nil {
		return err
	}
	p.tell(history.Event{Node: name, Kind: history.Deleted, Account: viewer(c).Account})
	return web.Redirect(c, "/console/nodes", "said", "deleted")
}
