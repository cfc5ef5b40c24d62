package nodeapi

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// nodeConfig handles GET /erupt-cloud-api/node-config/:node: the node's own config as it was saved. Old nodes take any
// body, whatever the status, for their config: a refusal is 200 and empty (erupt-wire 1.3).
func (a *API) nodeConfig(c *gin.Context) {
	a.rawConfig(c, configToken(c), func(n fleet.Node) (string, error) { return n.Config, nil })
}

// groupConfig handles GET /erupt-cloud-api/node-group-config/:node: the config of the node's group. Nodes send the token
// in the query as well, which counts only without the header.
func (a *API) groupConfig(c *gin.Context) {
	token := configToken(c)
	if token == "" {
		token = c.Query(wire.HeaderAccessToken)
	}
	a.rawConfig(c, token, func(n fleet.Node) (string, error) {
		if n.Group == "" {
			return "", nil
		}
		g, err := a.o.Groups.ByCode(c.Request.Context(), n.Group)
		return g.Config, err
	})
}

// configToken is the access token of a node that asks for config; those of 1.10 name it in the query (erupt-wire 1.9).
func configToken(c *gin.Context) string {
	if token := c.GetHeader(wire.HeaderAccessToken); token != "" {
		return token
	}
	return c.Query(wire.FormToken)
}

func (a *API) rawConfig(c *gin.Context, token string, read func(fleet.Node) (string, error)) {
	text, err := a.readConfig(c, token, read)
	if err != nil {
		a.shell.Note(c.Request, err)
	}
	c.Header("Cache-Control", "no-store")
	if text == "" {
		_ = done(c)
		return
	}
	c.Data(http.StatusOK, "text/plain;charset=UTF-8", []byte(text))
}

func (a *API) readConfig(c *gin.Context, token string, read func(fleet.Node) (string, error)) (text string, err error) {
	defer noPanic(&err)
	ctx, cancel := deadline(c)
	defer cancel()
	node, err := a.o.Nodes.AuthenticateStrict(ctx, web.Param(c, "node"), token)
	if err != nil {
		return "", err
	}
	return read(node)
}

// effectiveConfig handles GET /erupt-cloud-api/effective-config/:node for our agents: the merged document with a tag.
// Agents look at the status, so refusals are what they are elsewhere.
func (a *API) effectiveConfig(c *gin.Context) error {
	ctx, cancel := deadline(c)
	defer cancel()
	token := c.GetHeader(wire.HeaderAccessToken)
	if token == "" {
		return fault.New(fault.Unauthenticated, "the header %s is missing", wire.HeaderAccessToken)
	}
	node, err := a.o.Nodes.AuthenticateStrict(ctx, web.Param(c, "node"), token)
	if err != nil {
		return err
	}
	e, err := a.o.Nodes.Effective(ctx, node.Name)
	if err != nil {
		return err
	}
	tag := `"` + e.Revision + `"`
	c.Header("ETag", tag)
	c.Header("Cache-Control", "private, no-cache")
	c.Header(wire.HeaderConfigRevision, e.Revision)
	if matches(c.GetHeader("If-None-Match"), tag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	c.Data(http.StatusOK, "application/json", []byte(e.JSON))
	return nil
}

// matches compares weakly, as RFC 9110 asks for If-None-Match.
func matches(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		t = strings.TrimPrefix(strings.TrimSpace(t), "W/")
		if t == tag || t == "*" {
			return true
		}
	}
	return false
}
