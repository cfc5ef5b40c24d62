package restapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
)

// published is a config as it is in force.
type published struct {
	Revision int64           `json:"revision"` // 0: never published
	Config   json.RawMessage `json:"config"`   // null: none
}

// newConfig replaces a config as a whole. BaseRevision is the revision that the edit started from.
type newConfig struct {
	BaseRevision *int64          `json:"baseRevision"`
	Config       json.RawMessage `json:"config"`
	Note         string          `json:"note"`
}

// maxConfigBody leaves room for what stands around a config of the largest size.
const maxConfigBody = fleet.MaxConfig + 64<<10

func publishedOf(revision int64, config string) published {
	out := published{Revision: revision, Config: json.RawMessage("null")}
	if json.Valid([]byte(config)) { // an adopted database may hold anything
		out.Config = json.RawMessage(config)
	}
	return out
}

// shown is a config for the caller: who may not edit it gets it without secrets, as in the console.
func (a *api) shown(c *gin.Context, code string, group int64, config string) string {
	if a.holds(c, code+"@EDIT", group) {
		return config
	}
	return fleet.MaskConfig(config)
}

// edit reads the body of a PUT: what is published without saying on what it rests could erase a colleague's work (S28, S35).
func (n newConfig) edit(c *gin.Context) (fleet.ConfigEdit, error) {
	if n.BaseRevision == nil {
		return fleet.ConfigEdit{}, fault.New(fault.Invalid, "baseRevision is missing: the revision that the edit started from").Field("baseRevision", "is missing")
	}
	if n.Config == nil {
		return fleet.ConfigEdit{}, fault.New(fault.Invalid, "config is missing; null takes it away").Field("config", "is missing")
	}
	text := string(n.Config)
	if text == "null" {
		text = ""
	}
	return fleet.ConfigEdit{
		JSON: text, BaseRevision: *n.BaseRevision, Editor: actor(c).Account, Address: web.ClientIP(c.Request), Note: n.Note,
	}, nil
}

func (a *api) getNodeConfig(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, publishedOf(n.Revision, a.shown(c, access.CodeNodes, n.GroupID, n.Config)))
}

// putNodeConfig handles PUT /api/v1/nodes/{nodeName}/config.
func (a *api) putNodeConfig(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	edit, in, err := readEdit(c)
	if err != nil {
		return err
	}
	n, err = a.o.Nodes.SetConfig(c.Request.Context(), n.Name, edit)
	if err := a.audit(c, "config.publish", web.Param(c, "nodeName"), in, err); err != nil {
		return err
	}
	a.happened(c, history.Event{Node: n.Name, Kind: history.Published, Reason: edit.Note}, registry.Instance{})
	return answer(c, http.StatusOK, publishedOf(n.Revision, n.Config))
}

func (a *api) getGroupConfig(c *gin.Context) error {
	g, err := a.groupFor(c, access.CodeGroups)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, publishedOf(g.Revision, a.shown(c, access.CodeGroups, g.ID, g.Config)))
}

// putGroupConfig handles PUT /api/v1/groups/{code}/config.
func (a *api) putGroupConfig(c *gin.Context) error {
	g, err := a.groupFor(c, access.CodeGroups+"@EDIT")
	if err != nil {
		return err
	}
	edit, in, err := readEdit(c)
	if err != nil {
		return err
	}
	g, err = a.o.Groups.SetConfig(c.Request.Context(), g.Code, edit)
	if err := a.audit(c, "config.publish", web.Param(c, "code"), in, err); err != nil {
		return err
	}
	return answer(c, http.StatusOK, publishedOf(g.Revision, g.Config))
}

// readEdit returns the edit, and what of it goes into the audit trail: the config itself is in its history.
func readEdit(c *gin.Context) (fleet.ConfigEdit, any, error) {
	var in newConfig
	if err := web.DecodeJSON(c, &in, maxConfigBody); err != nil {
		return fleet.ConfigEdit{}, nil, err
	}
	edit, err := in.edit(c)
	return edit, map[string]any{"baseRevision": edit.BaseRevision, "note": edit.Note, "bytes": len(edit.JSON)}, err
}
