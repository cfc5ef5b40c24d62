package console

import (
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
)

// groupItem is a group as scripts get it. The parent is empty also if it is none of the viewer's.
type groupItem struct {
	Code      string    `json:"code"`
	Name      string    `json:"name"`
	Parent    string    `json:"parent"`
	Remark    string    `json:"remark"`
	Revision  int64     `json:"revision"` // of its configuration; 0: it has none
	Nodes     int       `json:"nodes"`    // directly in it
	Below     int       `json:"below"`    // with those of groups below it
	Updated   time.Time `json:"updated,omitzero"`
	UpdatedBy string    `json:"updatedBy,omitempty"`
}

func groupItemOf(g fleet.Group, states []*nodeState, tree *groupTree) groupItem {
	out := groupItem{
		Code: g.Code, Name: tree.name(g.Code), Parent: tree.byID[g.ParentID].Code, Remark: g.Remark, Revision: g.Revision, Updated: g.Updated,
		UpdatedBy: g.UpdatedBy,
	}
	out.Nodes, out.Below = tree.count(states, g.Code)
	return out
}

func groupTwin(states []*nodeState, tree *groupTree) listTwin[groupItem] {
	out := listTwin[groupItem]{Items: []groupItem{}}
	for _, g := range tree.sorted {
		out.Items = append(out.Items, groupItemOf(g.Group, states, tree))
	}
	total := len(out.Items)
	out.Total = &total
	return out
}

// exportGroups handles GET /console/groups.csv: the groups that the viewer sees, each before those below it (U81, S94).
func (p *pages) exportGroups(c *gin.Context) error {
	states, tree, err := p.fleet(c, access.CodeGroups)
	if err != nil {
		return err
	}
	header := titles(c.Request.Context(), "groups.code", "groups.name", "groups.parent", "node.remark", "nodes.title", "groups.with_below",
		"config.revision", "node.updated", "node.updated_by")
	return web.CSV(c, "groups", header, func(yield func([]any, error) bool) {
		for _, g := range groupTwin(states, tree).Items {
			if !yield([]any{g.Code, g.Name, g.Parent, g.Remark, g.Nodes, g.Below, g.Revision, g.Updated, g.UpdatedBy}, nil) {
				return
			}
		}
	})
}
