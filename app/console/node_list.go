package console

import (
	"cmp"
	"context"
	"net/http"
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
	p.route(root, http.MethodGet, "/nodes.csv", p.exportNodes, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/new", p.newNode, add)
	p.form(root, http.MethodPost, "/nodes/bulk", p.bulkNodes, edit, access.CodeManageNodes)
	p.form(root, http.MethodPost, "/nodes", p.createNode, add)
	p.route(root, http.MethodGet, "/nodes/:node", p.nodeOverview, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/instances", p.nodeInstances, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/instances.csv", p.exportInstances, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/instance", p.showInstance, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/events", p.nodeEvents, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/events/new", p.newEvents, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/events.csv", p.exportEvents, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/drains", p.nodeDrains, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/arrival", p.nodeArrival, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/pages", p.nodePages, access.CodeNodes)
	p.route(root, http.MethodGet, "/nodes/:node/settings", p.nodeSettings, access.CodeNodes)
	p.form(root, http.MethodPut, "/nodes/:node/settings", p.saveNode, edit)
	p.form(root, http.MethodPut, "/nodes/:node/enabled", p.enableNode, edit)
	p.form(root, http.MethodPost, "/nodes/:node/delete", p.deleteNode, del)
	p.form(root, http.MethodPost, "/nodes/:node/token", p.showToken, access.CodeViewToken)
	p.form(root, http.MethodPost, "/nodes/:node/token/rotate", p.rotateToken, edit)
	p.form(root, http.MethodPost, "/nodes/:node/token/end-grace", p.endGrace, edit)
	p.form(root, http.MethodPost, "/nodes/:node/drain", p.startDrain, access.CodeManageNodes)
	p.form(root, http.MethodPost, "/nodes/:node/drain/end", p.endDrain, access.CodeManageNodes)
	p.form(root, http.MethodPut, "/nodes/:node/hold", p.holdInstance, access.CodeManageNodes)
	p.form(root, http.MethodPost, "/nodes/:node/hold/lift", p.liftHold, access.CodeManageNodes)
	p.form(root, http.MethodPost, "/nodes/:node/instances/remove", p.removeInstance, access.CodeManageNodes)
	p.route(root, http.MethodGet, "/nodes/:node/log", p.nodeLog, access.CodeNodeLog)
	p.route(root, http.MethodGet, "/nodes/:node/log/lines", p.logLines, access.CodeNodeLog)
	p.route(root, http.MethodGet, "/nodes/:node/log/text", p.logText, access.CodeNodeLog)
	p.mountConfig(root, "/nodes/:node/config", access.CodeNodes, edit, p.nodeConfig)
}

// listNodes handles GET /console/nodes.
func (p *pages) listNodes(c *gin.Context) error {
	ctx := c.Request.Context()
	states, tree, err := p.fleet(c, access.CodeNodes)
	if err != nil {
		return err
	}
	q := views.ParseNodeQuery(c.Request.URL.Query())
	look := listLook(c, &q, len(states))
	m := nodeList(states, tree, q, look)
	p.addRights(c, &m, states)
	if err := p.addBeats(ctx, &m, states); err != nil {
		return err
	}
	m.Said, m.Server, m.Swapped = said(c), p.server(c), isFragment(c) && !isLive(c)
	if err := p.addPlaces(c, &m); err != nil {
		return err
	}
	if len(states) == 0 {
		if m.Hidden, err = p.hidesNodes(ctx); err != nil {
			return err
		}
		p.addFirstRun(c, &m)
	}
	return web.Twin(c, listJSON(m), views.NodeListPage(m), views.NodesListFragment, views.NodesHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// look is how a list is laid out.
type look struct {
	size        int
	flat, cards bool
	shut        []string // codes of collapsed groups, "-" for nodes without one
}

// addRights says of each row what a viewer may do with it whose rights end at some groups.
func (p *pages) addRights(c *gin.Context, m *views.NodeList, states []*nodeState) {
	if !scoped(c) {
		return
	}
	shown := m.Names()
	group := make(map[string]int64, len(shown))
	for _, s := range states {
		if shown[s.node.Name] {
			group[s.node.Name] = s.node.GroupID
		}
	}
	for _, g := range m.Groups {
		for i := range g.Rows {
			g.Rows[i].Can = p.can(c, group[g.Rows[i].Name])
		}
	}
}

// addPlaces lists the groups that selected nodes may be moved to.
func (p *pages) addPlaces(c *gin.Context, m *views.NodeList) (err error) {
	code := access.CodeNodes + "@EDIT"
	if viewer(c).Holds(code) {
		m.Places, err = p.places(c, code)
		m.MustPlace = !p.holds(viewer(c), code, 0)
	}
	return err
}

// hidesNodes reports whether there are nodes at all.
func (p *pages) hidesNodes(ctx context.Context) (bool, error) {
	all, err := p.Nodes.All(ctx)
	return len(all) > 0, err
}

// fleet judges the nodes and reads the groups for which the viewer holds code.
func (p *pages) fleet(c *gin.Context, code string) ([]*nodeState, *groupTree, error) {
	ctx := c.Request.Context()
	states, err := p.judged(ctx)
	if err != nil {
		return nil, nil, err
	}
	groups, err := p.Groups.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	return p.visible(c, code, states), newGroupTree(p.visibleGroups(c, code, groups)), nil
}

// nodeList is the list's model; heartbeats are still missing in it.
func nodeList(states []*nodeState, tree *groupTree, q views.NodeQuery, l look) views.NodeList {
	m := views.NodeList{Fleet: fleetOf(states), Filter: q, Flat: l.flat, Cards: l.cards, Side: groupSide(states, tree, q)}
	for _, s := range states {
		m.Instances += len(s.instances)
		m.UpCount += s.up
	}
	found := filtered(states, q, tree)
	m.Matches = len(found)
	m.Chips = chips(states, tree, q)
	counts := groupCounts(found)
	sortNodes(found, counts, tree, l.flat)
	open := len(found)
	if !l.flat {
		for _, code := range l.shut {
			open -= sum(counts[groupOf(code)])
		}
	}
	m.Pager = views.Paged(q.Page, l.size, open, func(page, n int) string { return q.At(page, n).Path() })
	m.Filter.Page = m.Pager.Page
	if l.flat {
		m.Groups = []views.NodeGroup{{Flat: true, Rows: rowsOf(found[min(m.Pager.From()-1, open):m.Pager.To()], tree)}}
	} else {
		m.Groups = grouped(found, counts, tree, l.shut, m.Pager)
		for i, g := range m.Groups {
			m.Groups[i].FoldPath = m.Filter.With("fold", orNone(g.Code))
			if g.Shut {
				m.Groups[i].FoldPath = m.Filter.With("open", orNone(g.Code))
			}
		}
	}
	return m
}

func filtered(states []*nodeState, q views.NodeQuery, tree *groupTree) []*nodeState {
	out := make([]*nodeState, 0, len(states))
	for _, s := range states {
		if matches(s, q, tree) {
			out = append(out, s)
		}
	}
	return out
}

func sum(counts map[views.StateKind]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// groupOf undoes orNone.
func groupOf(code string) string {
	if code == "-" {
		return ""
	}
	return code
}

func rowsOf(states []*nodeState, tree *groupTree) []views.NodeRow {
	out := make([]views.NodeRow, 0, len(states))
	for _, s := range states {
		out = append(out, s.row(tree.name(s.node.Group), time.Time{}))
	}
	return out
}

// fleetOf counts the states and finds the node to look at first: the worst, of those a core node, of those the one with most
// instances out of routing, of those the first by name.
func fleetOf(states []*nodeState) views.Fleet {
	f := views.Fleet{Nodes: len(states), Count: map[views.StateKind]int{}}
	var first *nodeState
	for _, s := range states {
		f.Count[s.kind]++
		if n := s.held(); s.kind == views.StateUp && n > 0 {
			f.Partly = append(f.Partly, views.PartlyOut{Node: s.node.Name, Out: n, Total: len(s.instances)})
		}
		if n := s.leaving(); s.leaves && s.kind == views.StateUp && n > 0 {
			f.Leaving = append(f.Leaving, views.PartlyOut{Node: s.node.Name, Out: n, Total: len(s.instances)})
		}
		if s.kind == views.StateUp && s.up == len(s.instances) || s.kind.Dim() {
			continue
		}
		if first == nil || cmp.Or(cmp.Compare(s.kind.Rank(), first.kind.Rank()), cmp.Compare(boolRank(s.node.Core), boolRank(first.node.Core)),
			cmp.Compare(missing(first), missing(s)), cmp.Compare(s.node.Name, first.node.Name)) < 0 {
			first = s
		}
	}
	if first != nil {
		f.First = first.node.Name
	}
	return f
}

// addBeats asks for the heartbeats of the rows that are shown, in one go.
func (p *pages) addBeats(ctx context.Context, m *views.NodeList, states []*nodeState) error {
	shown := m.Names()
	byName := make(map[string]*nodeState, len(shown))
	var keys []registry.Key
	for _, s := range states {
		if shown[s.node.Name] {
			byName[s.node.Name] = s
			keys = append(keys, s.keys()...)
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
func newestBeat(s *nodeState, beats map[registry.Key]time.Time) time.Time {
	var newest time.Time
	for _, i := range s.instances {
		if t := beats[i.Key]; i.Status != registry.OutOfService && t.After(newest) {
			newest = t
		}
	}
	return newest
}
