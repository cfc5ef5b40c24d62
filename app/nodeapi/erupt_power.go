package nodeapi

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// functions are the suffixes of the permission codes behind the flags of wire.Power, in the order of powerOf.
var functions = []string{"", "@ADD", "@EDIT", "@DELETE", "@EXPORT", "@IMPORTABLE", "@VIEW_DETAIL"}

// power handles GET /erupt-cloud-api/erupt-power: what a user may do with an erupt of a node. Old nodes look neither at
// the status nor at missing keys, for which they assume true: whatever goes wrong, the answer is 200 and every key false.
func (a *API) power(c *gin.Context) {
	p, err := a.askPower(c)
	if err != nil {
		a.unanswered(c, "power", err)
		p = wire.Power{}
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, p)
}

func (a *API) askPower(c *gin.Context) (p wire.Power, err error) {
	defer noPanic(&err)
	node, erupt := c.Query("nodeName"), c.Query("eruptName")
	if node == "" || erupt == "" || len(erupt) > maxName || !utf8.ValidString(erupt) || strings.ContainsAny(erupt, "@?./") {
		return p, fault.New(fault.Invalid, "nodeName and eruptName must name an erupt of a node")
	}
	codes := make([]string, len(functions))
	for i, f := range functions {
		codes[i] = node + "." + erupt + f
	}
	_, held, err := a.onBehalf(c, node, codes...)
	if err != nil {
		return p, err
	}
	if len(held) != len(functions) {
		return p, fmt.Errorf("asked for %d codes, heard of %d", len(functions), len(held))
	}
	// The others are never computed: the node's own word decides. A cell is edited with the right to edit. Comments on records are
	// not offered (erupt-wire 9, rows 18 and 19).
	return wire.Power{
		Query: held[0], Add: held[1], Edit: held[2], Delete: held[3], Export: held[4], Importable: held[5], ViewDetails: held[6],
		Print: true, Copy: true, CellEdit: held[2], AI: true, Comment: false, Revision: true,
	}, nil
}

// userInfo handles GET /erupt-cloud-api/userinfo/:node: who the user behind a request is. A refusal is 200 and empty,
// since a node takes an error document for a user without a name (erupt-wire 1.6).
func (a *API) userInfo(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	u, err := a.askUser(c)
	if err != nil {
		a.unanswered(c, "userinfo", err)
		_ = done(c)
		return
	}
	c.JSON(http.StatusOK, u)
}

func (a *API) askUser(c *gin.Context) (u wire.UserInfo, err error) {
	defer noPanic(&err)
	ctx, cancel := deadline(c)
	defer cancel()
	name := web.Param(c, "node")
	if _, known := a.o.Nodes.Cached(name); !known { // to look for it costs a question to the database
		if err := a.unproven(c); err != nil {
			return u, err
		}
	}
	node, err := a.o.Nodes.Authenticate(ctx, name, c.GetHeader(wire.HeaderAccessToken))
	if err != nil {
		return u, err
	}
	in, _, err := a.onBehalf(c, node.Name)
	if err != nil {
		return u, err
	}
	return userOf(in), nil
}

func userOf(in access.Session) wire.UserInfo {
	u := wire.UserInfo{
		ID: in.UserID, Account: in.Account, Username: in.Name, SuperAdmin: in.Admin, Roles: in.Roles,
		Org: orNil(in.Org), Post: orNil(in.Post),
	}
	if u.Roles == nil {
		u.Roles = []string{}
	}
	return u
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// noPanic turns a panic into an error where the answer to any error is harmless and an error document is not.
func noPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}
