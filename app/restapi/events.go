package restapi

import (
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/web"
)

// event is one thing that happened to a node.
type event struct {
	ID         int64   `json:"id"`
	At         *string `json:"at"`
	NodeName   string  `json:"nodeName"`
	Kind       string  `json:"kind"`
	InstanceID *string `json:"instanceId"`
	Location   *string `json:"location"`
	Reason     *string `json:"reason"`
	Account    *string `json:"account"` // null: no person did it
	Version    *string `json:"version"`
}

// nodeEvents handles GET /api/v1/nodes/{nodeName}/events.
func (a *api) nodeEvents(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	f, err := eventFilter(c)
	if err != nil {
		return err
	}
	f.Node = n.Name
	return a.answerEvents(c, f)
}

// events handles GET /api/v1/events. A session that is limited to groups sees the events of their nodes.
func (a *api) events(c *gin.Context) error {
	f, err := eventFilter(c)
	if err != nil {
		return err
	}
	f.Node = c.Query("node")
	if scoped(c, access.CodeNodes) {
		if f.Nodes, err = a.visibleNames(c); err != nil {
			return err
		}
	}
	return a.answerEvents(c, f)
}

func (a *api) answerEvents(c *gin.Context, f history.Filter) error {
	events, total, err := a.o.History.List(c.Request.Context(), f)
	if err != nil {
		return err
	}
	items := make([]event, len(events))
	for i, e := range events {
		items[i] = event{
			ID: e.ID, At: when(e.At), NodeName: e.Node, Kind: string(e.Kind), InstanceID: orNull(e.Instance), Location: orNull(e.Location),
			Reason: orNull(e.Reason), Account: orNull(e.Account), Version: orNull(e.Version),
		}
	}
	return answerList(c, items, total)
}

// visibleNames are the nodes that the session may see, never nil.
func (a *api) visibleNames(c *gin.Context) ([]string, error) {
	all, err := a.allNodes(c.Request.Context(), fleet.NodeFilter{})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, n := range a.visible(c, all) {
		names = append(names, n.Name)
	}
	return names, nil
}

// visible leaves out the nodes that the session may not see.
func (a *api) visible(c *gin.Context, all []fleet.Node) []fleet.Node {
	var out []fleet.Node
	for _, n := range all {
		if a.holds(c, access.CodeNodes, n.GroupID) {
			out = append(out, n)
		}
	}
	return out
}

func eventFilter(c *gin.Context) (f history.Filter, err error) {
	if f.Page, f.PageSize, err = web.PageOf(c); err != nil {
		return f, err
	}
	f.Instance, f.Query = c.Query("instance"), strings.TrimSpace(c.Query("q"))
	for kind := range strings.SplitSeq(c.Query("kind"), ",") {
		if kind = strings.TrimSpace(kind); kind != "" {
			f.Kinds = append(f.Kinds, history.Kind(kind))
		}
	}
	for name, target := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if text := c.Query(name); text != "" {
			if *target, err = time.Parse(time.RFC3339, text); err != nil {
				return f, fault.New(fault.Invalid, "%s must be a time such as 2026-12-31T08:00:00Z", name).Field(name, "must be a time such as 2026-12-31T08:00:00Z")
			}
		}
	}
	if text := c.Query("before"); text != "" {
		if f.Before, err = strconv.ParseInt(text, 10, 64); err != nil || f.Before < 1 {
			return f, fault.New(fault.Invalid, "before must be the id of an event").Field("before", "must be the id of an event")
		}
	}
	return f, nil
}
