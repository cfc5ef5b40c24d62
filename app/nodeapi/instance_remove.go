package nodeapi

import (
	"encoding/json"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/history"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// Bounds of one answer of a node's log.
const maxLogLines = 2_000

// removeInstance handles GET /erupt-cloud-api/remove-instance/:node?instance=LOCATION. Removing what is not there is no
// error; a living instance is back with its next heartbeat.
func (a *API) removeInstance(c *gin.Context) error {
	node, location := web.Param(c, "node"), c.Query("instance")
	if location == "" {
		return wrong("instance", "is missing")
	}
	if l, err := probe.CanonicalLocation(location); err == nil {
		location = l
	}
	profile, _ := a.o.Nodes.Cached(node) // of no node, which lies in no group
	if !web.SessionFrom(c).HoldsIn(access.CodeManageNodes, a.o.Groups.Chain(profile.GroupID)) {
		return fault.New(fault.Forbidden, "for the node %s this needs the permission %s", node, access.CodeManageNodes)
	}
	ctx, cancel := deadline(c)
	defer cancel()
	removed, err := a.o.Registry.RemoveLocations(ctx, node, []string{location}, registry.Admin)
	e := web.AuditEntry(c, "instance.remove", node)
	e.Params, _ = json.Marshal(map[string]any{"location": location, "removed": len(removed)}) // a string and a number
	if err != nil {
		e.OK, e.Error = false, fault.Of(err).Message()
	}
	a.o.Audit.Record(e)
	if err != nil {
		return err
	}
	if a.o.History != nil && len(removed) > 0 {
		a.o.History.Record(history.Event{Node: node, Location: location, Kind: history.Removed, Account: web.SessionFrom(c).Account})
	}
	return done(c)
}

// nodeLog handles GET /erupt-cloud-api/erupt-cloud-node-log?nodeName=&size=&offset=. Ours besides: instance=LOCATION pins
// one instance, without it the first answers.
func (a *API) nodeLog(c *gin.Context) error {
	w := LogWish{Node: c.Query("nodeName"), Location: c.Query("instance"), Token: web.SessionFrom(c).Token}
	if w.Node == "" {
		return wrong("nodeName", "is missing")
	}
	if w.Token == "" {
		w.Token = web.HeaderToken(c.Request)
	}
	size, err := strconv.Atoi(c.Query("size"))
	if err != nil || size < 1 {
		return wrong("size", "must be a whole number from 1")
	}
	w.Size = min(size, maxLogLines)
	if text := c.Query("offset"); text != "" {
		offset, err := strconv.ParseInt(text, 10, 64)
		if err != nil || offset < 0 {
			return wrong("offset", "must be a whole number from 0")
		}
		w.Offset = &offset
	}
	lines, err := a.o.Logs.ReadLog(c.Request.Context(), w)
	if err != nil {
		return err
	}
	if lines == nil {
		lines = []wire.LogLine{}
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(200, lines)
	return nil
}
