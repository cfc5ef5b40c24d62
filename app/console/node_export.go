package console

import (
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// listed is a node in the JSON twin of the list.
type listed struct {
	Name      string      `json:"name"`
	Display   string      `json:"display"`
	Group     string      `json:"group,omitempty"`
	State     string      `json:"state"`
	Enabled   bool        `json:"enabled"`
	Up        int         `json:"up"`
	Instances int         `json:"instances"`
	Versions  []versionOf `json:"versions"`
	Heartbeat *time.Time  `json:"heartbeat,omitempty"`
}

type versionOf struct {
	Version string `json:"version"`
	Count   int    `json:"count"`
}

// listOf is the JSON twin of the list: the page that the address asks for, and the counts of all.
type listOf struct {
	Nodes  []listed       `json:"nodes"`
	Total  int            `json:"total"` // nodes that fit the filter
	Page   int            `json:"page"`
	Pages  int            `json:"pages"`
	Counts map[string]int `json:"counts"` // of all nodes that the caller may see, by state
}

func listJSON(m views.NodeList) listOf {
	out := listOf{Nodes: []listed{}, Total: m.Matches, Page: m.Pager.Page, Pages: m.Pager.Pages, Counts: map[string]int{}}
	for s, n := range m.Fleet.Count {
		out.Counts[string(s)] = n
	}
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			out.Nodes = append(out.Nodes, listedOf(r))
		}
	}
	return out
}

func listedOf(r views.NodeRow) listed {
	l := listed{
		Name: r.Name, Display: r.Display, Group: r.Group, State: string(r.State), Enabled: r.Enabled, Up: r.Up, Instances: r.Total,
		Versions: []versionOf{}, Heartbeat: when(r.Beat),
	}
	for _, v := range r.Versions {
		l.Versions = append(l.Versions, versionOf{v.Version, v.Count})
	}
	return l
}

// when is a time for JSON; the zero time is left out.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// exportNodes handles GET /console/nodes.csv: all nodes that fit the filter, the worst first (U81, S94).
func (p *pages) exportNodes(c *gin.Context) error {
	ctx := c.Request.Context()
	states, tree, err := p.fleet(c, access.CodeNodes)
	if err != nil {
		return err
	}
	q := views.ParseNodeQuery(c.Request.URL.Query())
	found := filtered(states, q, tree)
	sortNodes(found, nil, tree, true)
	m := views.NodeList{Groups: []views.NodeGroup{{Rows: rowsOf(found, tree)}}}
	if err := p.addBeats(ctx, &m, found); err != nil {
		return err
	}
	var header []string
	for _, key := range []string{"name", "display", "group", "state", "verdict", "enabled", "up", "instances", "versions", "heartbeat"} {
		header = append(header, views.T(ctx, "nodes.csv."+key))
	}
	return web.CSV(c, "nodes", header, func(yield func([]any, error) bool) {
		for _, r := range m.Groups[0].Rows {
			if !yield([]any{
				r.Name, r.Display, r.GroupName, views.T(ctx, r.State.Key()), r.Verdict.Text(ctx), r.Enabled, r.Up, r.Total, versionsText(r.Versions), r.Beat,
			}, nil) {
				return
			}
		}
	})
}

// settingsJSON are a node's settings for scripts.
type settingsJSON struct {
	Name       string   `json:"name"`
	Display    string   `json:"display"`
	Group      string   `json:"group"`
	Duty       []string `json:"duty"`
	Remark     string   `json:"remark"`
	Enabled    bool     `json:"enabled"`
	Core       bool     `json:"core"`
	RawSession bool     `json:"rawSession"`
	UpdatedBy  string   `json:"updatedBy,omitempty"`
}

func settingsTwin(n fleet.Node) settingsJSON {
	return settingsJSON{n.Name, n.Display, n.Group, append([]string{}, n.Duty...), n.Remark, n.Enabled, n.Core, n.RawSession, n.UpdatedBy}
}

func versionsText(v []views.VersionCount) string {
	names := make([]string, 0, len(v))
	for _, c := range v {
		names = append(names, c.Version)
	}
	return strings.Join(names, " + ")
}
