package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
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

// Cookies that remember how a viewer likes the list.
const (
	sizeCookie  = "ec_size"
	orderCookie = "ec_order"
	viewCookie  = "ec_view"
	shutCookie  = "ec_shut" // codes of collapsed groups
	defaultSize = 50
	maxShut     = 40 // groups that stay collapsed; more would not fit into a cookie
)

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
	m.Said, m.Server, m.Swapped = said(c), p.server(c), isFragment(c)
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

// listLook settles the layout: what the address asks for, which is then remembered, or what was remembered. Nobody having
// chosen, a fleet that does not fit on one page shows its worst nodes first, whatever their group (U10).
func listLook(c *gin.Context, q *views.NodeQuery, nodes int) look {
	l := look{size: pageSize(c, &q.Size), shut: shutGroups(c)}
	switch order := cmp.Or(q.Order, remembered(c, orderCookie)); order {
	case views.OrderWorst, views.OrderGroup:
		l.flat = order == views.OrderWorst
	default:
		l.flat = nodes > l.size
	}
	if q.Order != "" {
		remember(c, orderCookie, q.Order)
	}
	view := c.Query("view")
	if view == "cards" || view == "table" {
		remember(c, viewCookie, view)
	} else {
		view = remembered(c, viewCookie)
	}
	l.cards = view == "cards"
	return l
}

// shutGroups are the collapsed groups, after the address collapsed or opened one.
func shutGroups(c *gin.Context) []string {
	shut := slices.DeleteFunc(strings.Split(remembered(c, shutCookie), "."), func(s string) bool { return s == "" })
	before := len(shut)
	open := c.Query("open")
	shut = slices.DeleteFunc(shut, func(s string) bool { return s == open })
	if code := c.Query("fold"); code != "" && foldable(code) && !slices.Contains(shut, code) {
		shut = append(shut, code)
		shut = shut[max(0, len(shut)-maxShut):]
		before = -1
	}
	if len(shut) != before {
		remember(c, shutCookie, strings.Join(shut, "."))
	}
	return shut
}

// foldable reports whether a code fits into the cookie; those of adopted databases may hold anything.
func foldable(code string) bool {
	return len(code) <= 64 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// remember keeps a choice of the viewer in his browser.
func remember(c *gin.Context, name, value string) {
	http.SetCookie(c.Writer, &http.Cookie{
		Name: name, Value: value, Path: cookiePath(c), MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode, HttpOnly: true,
	})
}

func remembered(c *gin.Context, name string) string {
	v, err := c.Cookie(name)
	if err != nil {
		return ""
	}
	return v
}

// pageSize settles how many rows a page has: what the address asks for, which is then remembered, or what was remembered.
func pageSize(c *gin.Context, asked *int) int {
	if slices.Contains(views.PageSizes, *asked) {
		remember(c, sizeCookie, strconv.Itoa(*asked))
		return *asked
	}
	*asked = 0
	if n, err := strconv.Atoi(remembered(c, sizeCookie)); err == nil && slices.Contains(views.PageSizes, n) {
		return n
	}
	return defaultSize
}

// addRights says of each row what a viewer may do with it whose rights end at some groups.
func (p *pages) addRights(c *gin.Context, m *views.NodeList, states []nodeState) {
	if !scoped(c) {
		return
	}
	group := make(map[string]int64, len(states))
	for _, s := range states {
		group[s.node.Name] = s.node.GroupID
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
func nodeList(states []nodeState, tree *groupTree, q views.NodeQuery, l look) views.NodeList {
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

func filtered(states []nodeState, q views.NodeQuery, tree *groupTree) []nodeState {
	out := make([]nodeState, 0, len(states))
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

func rowsOf(states []nodeState, tree *groupTree) []views.NodeRow {
	out := make([]views.NodeRow, 0, len(states))
	for _, s := range states {
		out = append(out, s.row(tree.name(s.node.Group), time.Time{}))
	}
	return out
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
		own := cmp.Or(cmp.Compare(a.kind.Rank(), b.kind.Rank()), cmp.Compare(missing(b), missing(a)), cmp.Compare(len(b.refused), len(a.refused)),
			cmp.Compare(a.node.Name, b.node.Name))
		if flat || a.node.Group == b.node.Group {
			return own
		}
		return cmp.Or(cmp.Compare(worst[a.node.Group], worst[b.node.Group]),
			cmp.Compare(tree.place(a.node.Group), tree.place(b.node.Group)), cmp.Compare(a.node.Group, b.node.Group), own)
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

// grouped cuts one page out of sorted nodes, group by group. Only the nodes of open groups take places; the heading of a
// collapsed one stands where its nodes would begin.
func grouped(found []nodeState, counts map[string]map[views.StateKind]int, tree *groupTree, shut []string, page views.Pager) []views.NodeGroup {
	var out []views.NodeGroup
	from, to, last := page.From()-1, page.To(), page.Page == page.Pages
	before := 0 // open rows before this group
	for start := 0; start < len(found); {
		code := found[start].node.Group
		own := found[start : start+sum(counts[code])]
		start += len(own)
		g := views.NodeGroup{Code: code, Name: tree.name(code), Count: counts[code], Nodes: len(own), Shut: slices.Contains(shut, orNone(code))}
		if g.Shut {
			if before >= from && (before < to || last) {
				out = append(out, g)
			}
			continue
		}
		lo, hi := max(from-before, 0), min(to-before, len(own))
		if before += len(own); lo < hi {
			g.Rows = rowsOf(own[lo:hi], tree)
			out = append(out, g)
		}
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
		if t := beats[i.Key]; i.Status != registry.OutOfService && t.After(newest) {
			newest = t
		}
	}
	return newest
}
