package console

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// showToken handles POST /console/nodes/:node/token. The token is in this answer only: it is never cached, its size tells
// nothing (not packed), and the view is recorded.
func (p *pages) showToken(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeViewToken)
	if err != nil {
		return err
	}
	name := node.Name
	token, err := p.Nodes.Token(c.Request.Context(), name)
	if err := p.record(c, "token.view", name, err); err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	c.Set(unpacked, true)
	if isFragment(c) {
		return web.Render(c, views.TokenView(p.snippet(c, node, token)))
	}
	n, err := p.nodePage(c, views.TabOverview)
	if err != nil {
		return err
	}
	m := views.NodeOverview{
		NodeInstances: p.instances(c, n), Node: factsOf(n.state.node, n.tree), Connect: p.snippet(c, node, token),
		Erupts: pageLinks(c, name, n.state.erupts()),
	}
	return web.Render(c, views.NodeOverviewPage(m))
}

// rotateToken handles POST /console/nodes/:node/token/rotate. Who may see tokens gets the new one, in this answer only.
func (p *pages) rotateToken(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	if p.Tokens == nil {
		return fault.New(fault.Unavailable, "this server cannot rotate tokens")
	}
	token, err := p.Tokens.RotateToken(c.Request.Context(), node.Name, viewer(c).Account)
	if err := p.record(c, "token.rotate", node.Name, err); err != nil {
		return err
	}
	p.tell(history.Event{Node: node.Name, Kind: history.Rotated, Account: viewer(c).Account})
	if p.may(c, access.CodeViewToken, node) != nil {
		return web.Redirect(c, views.NodePath(node.Name, views.TabSettings), "said", "rotated")
	}
	c.Header("Cache-Control", "no-store")
	c.Set(unpacked, true)
	n, err := p.nodePage(c, views.TabSettings)
	if err != nil {
		return err
	}
	return web.Render(c, views.TokenRotatedPage(n.head, p.snippet(c, node, token)))
}

// endGrace handles POST /console/nodes/:node/token/end-grace: the token before the last rotation is refused from now on.
func (p *pages) endGrace(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	if p.Tokens == nil {
		return fault.New(fault.Unavailable, "this server cannot rotate tokens")
	}
	err = p.Tokens.EndGrace(c.Request.Context(), node.Name, viewer(c).Account)
	faster := fault.Is(err, fault.NotFound) // its time was over, or somebody was faster
	if faster {
		err = nil
	}
	if err := p.record(c, "token.end_grace", node.Name, err); err != nil {
		return err
	}
	if !faster {
		p.tell(history.Event{Node: node.Name, Kind: history.GraceEnded, Account: viewer(c).Account})
	}
	return web.Redirect(c, views.NodePath(node.Name, views.TabSettings), "said", "grace_ended")
}

// tokenState says what is left of the token before the last rotation.
func (p *pages) tokenState(s *nodeState) views.TokenState {
	if p.Tokens == nil {
		return views.TokenState{}
	}
	out := views.TokenState{Known: true}
	g, ok := p.Tokens.Grace(s.node.Name)
	if !ok {
		return out
	}
	out.Grace, out.Rotated, out.By, out.Until = true, g.Rotated, g.Account, g.Until
	for _, i := range s.instances {
		if p.oldToken(s.node.Name, i) {
			out.Old = append(out.Old, views.OldToken{Instance: i.ID, Since: i.Registered})
		}
	}
	slices.SortStableFunc(out.Old, func(a, b views.OldToken) int { return a.Since.Compare(b.Since) })
	return out
}

// oldToken reports whether an instance registered with the token before the last rotation.
func (p *pages) oldToken(node string, i instanceState) bool {
	return p.Tokens != nil && i.Node != nil && p.Tokens.TokenAge(node, i.Node.Token) == fleet.TokenOld
}

// sayAloud lets the page show a toast with what just happened. Headers are ASCII, so other characters are escaped.
func sayAloud(c *gin.Context, text string) {
	out, err := json.Marshal(map[string]string{"ec:said": text})
	if err != nil {
		return // a text always marshals
	}
	c.Header("HX-Trigger", asciiJSON(string(out)))
}

func asciiJSON(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteByte('?')
		default:
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hex[r>>shift&0xf])
			}
		}
	}
	return b.String()
}
