package restapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
)

// newToken is what a rotation answers; nothing else shows the token.
type newToken struct {
	AccessToken string  `json:"accessToken"`
	OldUntil    *string `json:"oldUntil"` // until when the one before is accepted; null: it is not
}

// tokenUse says who uses which token of a node.
type tokenUse struct {
	Rotated   *string         `json:"rotated"` // null: no older token is accepted
	RotatedBy *string         `json:"rotatedBy"`
	OldUntil  *string         `json:"oldUntil"`
	Instances []instanceToken `json:"instances"`
	Refused   []refusal       `json:"refused"`
}

type instanceToken struct {
	InstanceID string  `json:"instanceId"`
	Location   string  `json:"location"`
	Token      string  `json:"token"` // current, old or unknown
	Since      *string `json:"since"` // when it registered
}

// refusal is an address whose beats under the node's name are refused (S12).
type refusal struct {
	Address string  `json:"address"`
	Reason  string  `json:"reason"`
	Since   *string `json:"since"`
	Last    *string `json:"last"`
	Count   int     `json:"count"`
}

// rotateToken handles POST /api/v1/nodes/{nodeName}/token/rotate. It shows a token, so it asks for that right too.
func (a *api) rotateToken(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	if err := a.may(c, access.CodeViewToken, n); err != nil {
		return err
	}
	token, err := a.o.Tokens.RotateToken(c.Request.Context(), n.Name, actor(c).Account)
	if err := a.audit(c, "token.rotate", n.Name, nil, err); err != nil {
		return err
	}
	a.happened(c, history.Event{Node: n.Name, Kind: history.Rotated}, registry.Instance{})
	out := newToken{AccessToken: token}
	if g, ok := a.o.Tokens.Grace(n.Name); ok {
		out.OldUntil = when(g.Until)
	}
	return answer(c, http.StatusOK, out)
}

// endGrace handles DELETE /api/v1/nodes/{nodeName}/token/old.
func (a *api) endGrace(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	err = a.o.Tokens.EndGrace(c.Request.Context(), n.Name, actor(c).Account)
	if err := a.audit(c, "token.end_grace", n.Name, nil, err); err != nil {
		return err
	}
	a.happened(c, history.Event{Node: n.Name, Kind: history.GraceEnded}, registry.Instance{})
	return gone(c)
}

// tokenUse handles GET /api/v1/nodes/{nodeName}/token-use.
func (a *api) tokenUse(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	out := tokenUse{Instances: []instanceToken{}, Refused: []refusal{}}
	if g, ok := a.o.Tokens.Grace(n.Name); ok {
		out.Rotated, out.RotatedBy, out.OldUntil = when(g.Rotated), orNull(g.Account), when(g.Until)
	}
	for _, in := range a.o.Registry.View().Node(n.Name) {
		row := instanceToken{InstanceID: in.ID, Since: when(in.Registered)}
		if in.Node != nil {
			row.Token = string(a.o.Tokens.TokenAge(n.Name, in.Node.Token))
		}
		if len(in.Locations) > 0 {
			row.Location = in.Locations[0]
		}
		out.Instances = append(out.Instances, row)
	}
	for _, r := range a.o.Refusals.Of(n.Name) {
		out.Refused = append(out.Refused, refusal{Address: r.Address, Reason: r.Reason, Since: when(r.Since), Last: when(r.Last), Count: r.Count})
	}
	return answer(c, http.StatusOK, out)
}

// happened records what a person did to a node.
func (a *api) happened(c *gin.Context, e history.Event, in registry.Instance) {
	e.Account = web.SessionFrom(c).Account
	if in.Node != nil {
		e.Version = in.Node.Version
	}
	if e.Location == "" && len(in.Locations) > 0 {
		e.Location = in.Locations[0]
	}
	a.o.History.Record(e)
}
