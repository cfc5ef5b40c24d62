package console

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// ReadTokens returns from memory the access tokens that are valid for a node (fleet.Nodes).
type ReadTokens interface {
	Tokens(name string) []string
}

// badgeAge is how long others may keep a badge or a status, in seconds.
const badgeAge = "30"

// readToken is what lets somebody without an account read the state of one node (U81). It follows from the node's access
// token and a key of this installation, and neither follows from it. Whoever rotates the access token revokes it: the one
// that follows from the older token is good as long as that is.
func readToken(key []byte, node, accessToken string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("read\x00" + node + "\x00" + accessToken))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

func (p *pages) mountBadges(e *gin.Engine, root *gin.RouterGroup) {
	if p.ReadTokens == nil || len(p.BadgeKey) == 0 {
		return
	}
	limit := p.shell.RateLimit(web.NewLimiter(20, 100, 20_000, p.Now))
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		e.Handle(method, "/badge/:file", limit, p.shell.Handle(p.badge))
		e.Handle(method, "/status/:file", limit, p.shell.Handle(p.status))
	}
	p.route(root, http.MethodGet, "/nodes/:node/badge", p.badgePage, access.CodeViewToken)
}

// reader returns the node in the address if the query has its read token. All else is answered alike, so that nobody learns
// from it which nodes there are.
func (p *pages) reader(c *gin.Context, extension string) (fleet.Node, error) {
	nothing := fault.New(fault.NotFound, "nothing is at this address, or its token is not good any more")
	name, ok := strings.CutSuffix(web.Param(c, "file"), extension)
	given, good := []byte(c.Query("token")), false
	for _, token := range p.ReadTokens.Tokens(name) {
		good = hmac.Equal(given, []byte(readToken(p.BadgeKey, name, token))) && token != "" || good
	}
	if !ok || !good {
		return fleet.Node{}, nothing
	}
	n, err := p.Nodes.ByName(c.Request.Context(), name)
	if fault.Is(err, fault.NotFound) {
		return fleet.Node{}, nothing
	}
	return n, err
}

// badge handles GET /badge/NODE.svg?token=…&label=…&lang=…: the state as a picture for other pages.
func (p *pages) badge(c *gin.Context) error {
	n, err := p.reader(c, ".svg")
	if err != nil {
		return err
	}
	lang := "en"
	if c.Query("lang") == "zh" {
		lang = "zh"
	}
	s := judge(n, p.Registry.View().Node(n.Name), p.orders(), nil)
	label := cmp.Or(strings.TrimSpace(shortQuery(c.Query("label"))), n.Display, n.Name)
	briefly(c)
	c.Data(http.StatusOK, "image/svg+xml", views.Badge(label, s.kind, lang))
	return nil
}

// nodeStatus is the state of a node for programs that have no account.
type nodeStatus struct {
	Node      string         `json:"node"`
	State     string         `json:"state"` // as in the console: up, slow, probe, down, drain, held, off, disabled, never
	Up        int            `json:"up"`    // instances that get requests
	Instances int            `json:"instances"`
	States    map[string]int `json:"states"` // of the instances
	At        time.Time      `json:"at"`
}

// status handles GET /status/NODE.json?token=…
func (p *pages) status(c *gin.Context) error {
	n, err := p.reader(c, ".json")
	if err != nil {
		return err
	}
	s := judge(n, p.Registry.View().Node(n.Name), p.orders(), nil)
	out := nodeStatus{Node: n.Name, State: string(s.kind), Up: s.up, Instances: len(s.instances), States: map[string]int{}, At: p.Now().UTC()}
	for _, i := range s.instances {
		out.States[string(i.kind)]++
	}
	briefly(c)
	c.JSON(http.StatusOK, out)
	return nil
}

// briefly lets others keep an answer for a moment, and pages of other sites read it: who has its address may see it.
func briefly(c *gin.Context) {
	c.Header("Cache-Control", "public, max-age="+badgeAge)
	c.Header("Access-Control-Allow-Origin", "*")
	c.Header("Cross-Origin-Resource-Policy", "cross-origin")
}

// badgePage handles GET /console/nodes/:node/badge: the links for other pages, for those who may see the access token too.
func (p *pages) badgePage(c *gin.Context) error {
	n, err := p.Nodes.ByName(c.Request.Context(), web.Param(c, "node"))
	if err != nil {
		return err
	}
	if err := p.may(c, access.CodeViewToken, n); err != nil {
		return err
	}
	m := views.BadgeModel{Node: n.Name, Display: n.Display}
	if tokens := p.ReadTokens.Tokens(n.Name); len(tokens) > 0 && tokens[0] != "" {
		query := "?token=" + readToken(p.BadgeKey, n.Name, tokens[0])
		m.Badge, m.Status = p.server(c)+views.BadgePath(n.Name)+query, p.server(c)+views.StatusPath(n.Name)+query
		m.Preview = views.BadgePath(n.Name) + query + "&lang=" + views.FrameOf(c.Request.Context()).Lang
	}
	c.Set(unpacked, true)
	twin := map[string]string{"node": m.Node, "badge": m.Badge, "status": m.Status}
	return p.record(c, "badge.show", n.Name, web.Twin(c, twin, views.BadgePage(m)))
}
