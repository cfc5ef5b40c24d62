package restapi

import (
	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
)

// locationHold is a hold as it is kept: of a location, whether an instance has it at present or not.
type locationHold struct {
	Location string  `json:"location"`
	Reason   string  `json:"reason"`
	Account  string  `json:"account"`
	Created  *string `json:"created"`
}

// listHolds handles GET /api/v1/nodes/{nodeName}/holds, by location: also holds that no instance has any more.
func (a *api) listHolds(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	n, err := a.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	all, err := a.o.Holds.Of(c.Request.Context(), n.Name)
	if err != nil {
		return err
	}
	items := []locationHold{}
	for _, h := range cut(all, page, size) {
		items = append(items, locationHold{Location: h.Location, Reason: h.Reason, Account: h.Account, Created: when(h.Created)})
	}
	return answerList(c, items, len(all))
}

// liftLocation handles DELETE /api/v1/nodes/{nodeName}/holds?location=….
func (a *api) liftLocation(c *gin.Context) error {
	location := c.Query("location")
	if location == "" {
		return fault.New(fault.Invalid, "a hold needs the location that it is for").Field("location", "is missing")
	}
	n, err := a.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	err = a.o.Holds.Lift(c.Request.Context(), n.Name, location, actor(c).Account)
	if err := a.audit(c, "instance.release", n.Name, map[string]any{"locations": []string{location}}, err); err != nil {
		return err
	}
	a.happened(c, history.Event{Node: n.Name, Location: location, Kind: history.Lifted}, registry.Instance{})
	return gone(c)
}
