package console

import (
	"encoding/json"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
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
