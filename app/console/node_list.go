package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func (p *pages) mountNodes(root *gin.RouterGroup) {
	const (
		add, edit, del = access.CodeNodes + "@ADD", access.CodeNodes + "@EDIT", access.CodeNodes + "@DELETE"
	)
	p.route(root, http.MethodGet, "/nodes", p.listNodes, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/new", p.newNode, add)
	p.form(root, http.MethodPost, "/nodes", p.createNode, add)
	p.route(root, http.MethodGet, "/nodes/:node", p.nodeOverview, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/instances", p.nodeInstances, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/pages", p.nodePages, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/settings", p.nodeSettings, access.CodeNodes)
	p.form(root, http.MethodPut, "/nodes/:node/settings", p.saveNode, edit)
	p.form(root, http.MethodPut, "/nodes/:node/enabled", p.enableNode, edit)
	p.form(root, http.MethodPost, "/nodes/:node/delete", p.deleteNode, del)
	p.form(root, http.MethodPost, "/nodes/:node/token", p.showToken, access.CodeViewToken)
	p.form(root, http.MethodPut, "/nodes/:node/hold", p.holdInstance, access.CodeManageNodes)
	p.form(root, http.MethodPost, "/nodes/:node/hold/lift", p.liftHold, access.CodeManageNodes)
	p.form(root, http.MethodPost, "/nodes/:node/instances/remove", p.removeInstance, access.CodeManageNodes)
	p.route(root, http.MethodGet, "/nodes/:node/log", p.nodeLog, access.CodeNodeLog)
	p.route(root, http.MethodGet, "/nodes/:node/log/lines", p.logLines, access.CodeNodeLog)
	p.route(root, http.MethodGet, "/nodes/:node/log/text", p.logText, access.CodeNodeLog)
	p.mountConfig(root, "/nodes/:node/config", access.CodeNodes, edit, p.nodeConfig)
}

// sizeCookie remembers how many rows a viewer likes on a page.
const (
	sizeCookie  = "ec_size"
	defaultSize = 50
)

// listNodes handles GET /console/nodes.
func (p *pages) listNodes(c *gin.Context) error {
	ctx := c.Request.Context()
	q := views.ParseNodeQuery(c.Request.URL.Query())
	remembered := pageSize(c, &q.Size)
	states, tree, err := p.fleet(c, access.CodeNodes)
	if err != nil {
		return err
	}
	m := nodeList(states, tree, q, remembered)
	if err := p.addBeats(ctx, &m, states); err != nil {
		return err
	}
	m.Said, m.Server, m.Swapped = said(c), p.server(c), isFragment(c)
	return web.Render(c, views.NodeListPage(m), views.NodesListFragment, views.NodesHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// pageSize settles how many rows a page has: what the address asks for, which is then remembered, or what was remembered.
func pageSize(c *gin.Context, asked *int) int {
	if slices.Contains(views.PageSizes, *asked) {
		http.SetCookie(c.Writer, &http.Cookie{
			Name: sizeCookie, Value: strconv.Itoa(*asked), Path: cookiePath(c), MaxAge: 365 * 24 * 3600,
			SameSite: http.SameSiteLaxMode, HttpOnly: true,
		})
		return *asked
	}
	*asked = 0
	if v, err := c.Cookie(sizeCookie); err == nil {
		if n, err := strconv.Atoi(v); err == nil && slices.Contains(views.PageSizes, n) {
			return n
		}
	}
	return defaultSize
}

// fleet judges the nodes and reads the groups for which the viewer holds code.
func (p *pages) fleet(c *gin.Context, code string) ([]nodeState, *groupTree, error) {
	ctx := c.Request.Context()
	nodes, err := p.Nodes.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	groups, err := p.Groups.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	return judgeBy(p.visible(c, code, nodes), p.Registry.View(), p.orders()), newGroupTree(p.visibleGroups(c, code, groups)), nil
}

// nodeList is the list's model; heartbeats are still missing in it.
func nodeList(states []nodeState, tree *groupTree, q views.NodeQuery, size int) views.NodeList {
	m := views.NodeList{Fleet: fleetOf(states), Filter: q, Side: groupSide(states, tree, q)}
	for _, s := range states {
		m.Instances += len(s.instances)
		m.UpCount += s.up
	}
	found := slices.DeleteFunc(slices.Clone(states), func(s nodeState) bool { return !matches(s, q, tree) })
	m.Matches = len(found)
	m.Chips = chips(states, tree, q)
	counts := groupCounts(found)
	sortNodes(found, counts, tree, q.Flat)
	m.Pager = views.Paged(q.Page, size, len(found), func(page, n int) string { return q.At(page, n).Path() })
	m.Filter.Page = m.Pager.Page
	page := found[min(m.Pager.From()-1, len(found)):m.Pager.To()]
	m.Groups = grouped(page, counts, tree, q.Flat)
	return m
}

// fleetOf counts the states and finds the node to look at first: the worst, of those a core node, of those the one with most
// instances out of routing, of those the first by name.
func fleetOf(states []nodeState) views.Fleet {
	f := views.Fleet{Nodes: len(states), Count: map[views.StateKind]int{}}
	var first *nodeState
	for i, s := range states {
		f.Count[s.kind]++
		if n := s.held(); s.kind == views.StateUp && n > 0 {
			f.Partly = append(f.Partly, views.PartlyHeld{Node: s.node.Name, Held: n, Total: len(s.instances)})
		}
		if s.kind == views.StateUp && s.up == len(s.instances) || s.kind.Dim() {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(s.kind.Rank(), first.kind.Rank()), cmp.Compare(boolRank(s.node.Core), boolRank(first.node.Core)),
			cmp.Compare(missing(*first), missing(s)), cmp.Compare(s.node.Name, first.node.Name)) < 0 {
			first = &states[i]
		}
	}
	if first != nil {
		f.First = first.node.Name
	}
	return f
}

// boolRank puts true first.
func boolRank(b bool) int {
	if b {
		return 0
	}
	return 1
}

func orNone(group string) string {
	if group == "" {
		return "-"
	}
	return group
}

// groupCounts counts the states in each group.
func groupCounts(states []nodeState) map[string]map[views.StateKind]int {
	out := map[string]map[views.StateKind]int{}
	for _, s := range states {
		g := out[s.node.Group]
		if g == nil {
			g = map[views.StateKind]int{}
			out[s.node.Group] = g
		}
		g[s.kind]++
	}
	return out
}

// sortNodes puts the worst first: groups by their worst node, nodes within them; flat ignores groups. Nodes without a
// group come last among equals.
func sortNodes(states []nodeState, counts map[string]map[views.StateKind]int, tree *groupTree, flat bool) {
	worst := map[string]int{}
	for g, c := range counts {
		worst[g] = worstOf(c).Rank()
	}
	slices.SortFunc(states, func(a, b nodeState) int {
		own := cmp.Or(cmp.Compare(a.kind.Rank(), b.kind.Rank()), cmp.Compare(missing(b), missing(a)),
			cmp.Compare(a.node.Name, b.node.Name))
		if flat || a.node.Group == b.node.Group {
			return own
		}
		return cmp.Or(cmp.Compare(worst[a.node.Group], worst[b.node.Group]),
			cmp.Compare(tree.place(a.node.Group), tree.place(b.node.Group)), own)
	})
}

// missing is the number of instances that are not in routing.
func missing(s nodeState) int { return len(s.instances) - s.up }

// worstOf is the state that decides a group's place; nodes that nobody expects to run do not move it up.
func worstOf(c map[views.StateKind]int) views.StateKind {
	worst := views.StateUp
	for k, n := range c {
		if n > 0 && !k.Dim() && k.Rank() < worst.Rank() {
			worst = k
		}
	}
	return worst
}

// grouped cuts one page of sorted nodes into its groups.
func grouped(page []nodeState, counts map[string]map[views.StateKind]int, tree *groupTree, flat bool) []views.NodeGroup {
	var out []views.NodeGroup
	for i, s := range page {
		if i == 0 || !flat && s.node.Group != page[i-1].node.Group {
			g := views.NodeGroup{Flat: flat}
			if !flat {
				g.Code, g.Name, g.Count = s.node.Group, tree.name(s.node.Group), counts[s.node.Group]
				for _, n := range g.Count {
					g.Nodes += n
				}
			}
			out = append(out, g)
		}
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, s.row(tree.name(s.node.Group), time.Time{}))
	}
	return out
}

// addBeats asks for the heartbeats of the rows that are shown, in one go.
func (p *pages) addBeats(ctx context.Context, m *views.NodeList, states []nodeState) error {
	byName := make(map[string]nodeState, len(states))
	for _, s := range states {
		byName[s.node.Name] = s
	}
	var keys []registry.Key
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			keys = append(keys, byName[r.Name].keys()...)
		}
	}
	beats, err := p.beats(ctx, keys)
	if err != nil {
		return err
	}
	for _, g := range m.Groups {
		for i := range g.Rows {
			g.Rows[i].Beat = newestBeat(byName[g.Rows[i].Name], beats)
		}
	}
	return nil
}

// beats returns when each instance was last heard.
func (p *pages) beats(ctx context.Context, keys []registry.Key) (map[registry.Key]time.Time, error) {
	out := make(map[registry.Key]time.Time, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	times, err := p.Registry.LastHeartbeats(ctx, keys...)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		if i < len(times) {
			out[k] = times[i]
		}
	}
	return out, nil
}

// newestBeat is the last sign of life of a node. A draining instance does not count: its lease ends when its drain does.
func newestBeat(s nodeState, beats map[registry.Key]time.Time) time.Time {
	var newest time.Time
	for _, i := range s.instances {
		if t := beats[i.Key]; i.kind != views.StateDraining && t.After(newest) {
			newest = t
		}
	}
	return newest
}
