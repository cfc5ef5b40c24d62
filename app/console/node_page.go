package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// Bounds of what one page shows.
const (
	maxNeighbours    = 60  // nodes in the side list
	instancesPerPage = 50  // rows of the instance table
	maxOverviewPages = 12  // pages named on the overview
	maxListedPages   = 500 // pages on their own tab
)

// nodePage is what all tabs of one node start from.
type nodePage struct {
	state *nodeState
	head  views.NodeHead
	tree  *groupTree
	beats registryBeats
	holds []fleet.Hold
}

// nodeOverview handles GET /console/nodes/:node.
func (p *pages) nodeOverview(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabOverview)
	if err != nil {
		return err
	}
	erupts := n.state.erupts()
	m := views.NodeOverview{
		NodeInstances: p.instances(c, n), Node: factsOf(n.state.node, n.tree), Connect: p.snippet(c, n.state.node, ""),
		Erupts: pageLinks(c, n.state.node.Name, erupts[:min(len(erupts), maxOverviewPages)]), Events: p.latest(c, n.state.node.Name, ""),
	}
	return web.Twin(c, twinOf(c, n, m.Instances), views.NodeOverviewPage(m), views.NodeHeadFragment, views.NodeFactsFragment,
		views.NodeDrainsFragment, views.NodeInstancesFragment, views.SideFragment, views.NavNodesFragment)
}

// nodeInstances handles GET /console/nodes/:node/instances.
func (p *pages) nodeInstances(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabInstances)
	if err != nil {
		return err
	}
	return p.renderInstances(c, n)
}

func (p *pages) renderInstances(c *gin.Context, n nodePage) error {
	m := p.instances(c, n)
	return web.Twin(c, twinOf(c, n, m.Instances), views.NodeInstancesPage(m), views.NodeInstancesFragment, views.NodeDrainsFragment,
		views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// nodePages handles GET /console/nodes/:node/pages.
func (p *pages) nodePages(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabPages)
	if err != nil {
		return err
	}
	state := n.state
	if id := c.Query("instance"); id != "" {
		n.head.Instance, state = id, n.state.only(id)
	}
	erupts := state.erupts()
	m := views.NodePages{
		NodeHead: n.head, Modules: state.modules(), Resources: state.resources(),
		Links: pageLinks(c, n.state.node.Name, erupts[:min(len(erupts), maxListedPages)]),
	}
	if p.Pages != nil {
		if err := p.offerLinks(c, n.state.node.Name, m.Links); err != nil {
			return err
		}
		if m.Checked = c.Query("checked") == "1"; m.Checked {
			p.markMissing(c, n.state.node.Name, m.Links)
		}
	}
	m.Check = p.Pages != nil && !m.Checked
	return web.Twin(c, pagesTwin(c, m), views.NodePagesPage(m), views.NodePagesFragment, views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// nodeFor reads the node of the address. fault.NotFound if there is none, fault.Forbidden unless the viewer holds code for it.
func (p *pages) nodeFor(c *gin.Context, code string) (fleet.Node, error) {
	node, err := p.Nodes.ByName(c.Request.Context(), c.Param("node"))
	if err != nil {
		return fleet.Node{}, err
	}
	return node, p.may(c, code, node)
}

// nodePage reads the node of the address and judges it and its neighbours. fault.NotFound if there is no such node,
// fault.Forbidden if it is none of the viewer's.
func (p *pages) nodePage(c *gin.Context, tab string) (nodePage, error) {
	ctx, code := c.Request.Context(), access.CodeNodes
	if tab == views.TabLog {
		code = access.CodeNodeLog
	}
	node, err := p.nodeFor(c, code)
	if err != nil {
		return nodePage{}, err
	}
	states, tree, err := p.fleet(c, code)
	if err != nil {
		return nodePage{}, err
	}
	view := p.Registry.View()
	// Judged from the profile just read, not from the list's copy of it, which may be seconds old.
	n := nodePage{state: judgeBy(oneNode(node), view, p.orders())[0], tree: tree}
	if n.beats, err = p.heard(ctx, n.state); err != nil {
		return nodePage{}, err
	}
	if n.holds, err = p.Holds.Of(ctx, node.Name); err != nil {
		return nodePage{}, err
	}
	row := n.state.row(tree.name(node.Group), n.beats.newest(n.state))
	row.Can = p.can(c, node.GroupID)
	n.head = views.NodeHead{
		NodeRow: row, Tab: tab, Side: neighbours(states, tree, node, tab), Pages: len(n.state.erupts()), Rev: node.Revision,
		Left: n.state.departure(), Leaving: n.state.leaving(), Holds: holdViews(n.holds), Said: said(c), Server: p.server(c),
		Instances: switcher(n.state), Refused: refusalViews(n.state.refused), Token: p.tokenState(n.state),
		CanDrain: p.Drains != nil, HasEvents: p.History != nil, HasRoute: p.Traces != nil,
	}
	return n, nil
}

// neighbours are the nodes of the same group, worst first; the node itself is always among them.
func neighbours(states []*nodeState, tree *groupTree, node fleet.Node, tab string) views.NodeSideModel {
	m := views.NodeSideModel{Group: node.Group, GroupName: tree.name(node.Group), Current: node.Name, Sub: tab}
	own := slices.DeleteFunc(slices.Clone(states), func(s *nodeState) bool { return s.node.Group != node.Group })
	sortNodes(own, nil, tree, true)
	at := slices.IndexFunc(own, func(s *nodeState) bool { return s.node.Name == node.Name })
	for i, s := range own {
		if i < maxNeighbours || i == at {
			m.Nodes = append(m.Nodes, views.NodeLink{Name: s.node.Name, State: s.kind})
		} else {
			m.More++
		}
	}
	return m
}

// instances is the table of a node's instances: the worst first, then as they came.
func (p *pages) instances(c *gin.Context, n nodePage) views.NodeInstances {
	m := views.NodeInstances{NodeHead: n.head, Absent: absentHolds(n), Drains: p.drainViews(n.state)}
	conflicts := p.conflicts(n.state.node.Name)
	all := worstFirst(n.state.instances)
	page, _ := strconv.Atoi(c.Query("page")) // not a number: the first page
	m.Pager = views.Paged(page, instancesPerPage, len(all), func(page, _ int) string {
		return views.NodePath(n.state.node.Name, n.head.Tab) + "?" + url.Values{"page": {strconv.Itoa(page)}}.Encode()
	})
	m.Pager.Sizes = nil
	for _, i := range all[min(m.Pager.From()-1, len(all)):m.Pager.To()] {
		m.Instances = append(m.Instances, p.instanceRow(n, i, conflicts[i.Key]))
	}
	return m
}

// worstFirst orders the instances of a node: those that are as well stay as they came.
func worstFirst(instances []instanceState) []instanceState {
	all := slices.Clone(instances)
	slices.SortStableFunc(all, func(a, b instanceState) int { return a.kind.Rank() - b.kind.Rank() })
	return all
}

// conflicts are the instances of a node that report one address, or one id, together with another.
func (p *pages) conflicts(node string) map[registry.Key]bool {
	out := map[registry.Key]bool{}
	for _, k := range p.Registry.Conflicts(node) {
		out[k.Holder], out[k.Key] = true, true
	}
	return out
}

func (p *pages) instanceRow(n nodePage, i instanceState, conflict bool) views.InstanceRow {
	r := views.InstanceRow{
		ID: i.ID, State: i.kind, Locations: i.Locations, Registered: i.Registered, Holds: holdViews(i.holds), Conflict: conflict,
		Drain: p.drainView(i), Last: i.kind == views.StateUp && n.state.up == 1,
	}
	if i.Node != nil {
		r.Version, r.Peer = i.Node.Version, i.Node.Peer
		r.OldToken = p.oldToken(n.state.node.Name, i)
	}
	// One that said goodbye itself beats no more: its lease ends when its time to finish does.
	if i.Status == registry.OutOfService {
		r.DrainUntil = n.beats[i.Key].until
	} else {
		r.Beat = n.beats[i.Key].at
	}
	return r
}

// absentHolds are those whose address no instance has now.
func absentHolds(n nodePage) []views.HoldView {
	return holdViews(slices.DeleteFunc(slices.Clone(n.holds), func(h fleet.Hold) bool {
		return slices.ContainsFunc(n.state.instances, func(i instanceState) bool { return slices.Contains(i.Locations, h.Location) })
	}))
}

func holdViews(holds []fleet.Hold) []views.HoldView {
	out := make([]views.HoldView, 0, len(holds))
	for _, h := range holds {
		out = append(out, views.HoldView{Location: h.Location, Reason: h.Reason, Account: h.Account, Since: h.Created})
	}
	return out
}

// pageLinks are the node's pages; one that the viewer may not open has no path.
func pageLinks(c *gin.Context, node string, erupts []string) []views.PageLink {
	out := make([]views.PageLink, 0, len(erupts))
	for _, e := range erupts {
		link := views.PageLink{Erupt: e}
		if full := node + "." + e; viewer(c).Holds(full) {
			link.Path = "/console/pages/" + url.PathEscape(full)
		}
		out = append(out, link)
	}
	return out
}

func factsOf(n fleet.Node, tree *groupTree) views.NodeFacts {
	return views.NodeFacts{
		Display: n.Display, Group: tree.name(n.Group), Remark: n.Remark, Duty: n.Duty, Core: n.Core, RawSession: n.RawSession,
		Enabled: n.Enabled, Created: n.Created, Updated: n.Updated, UpdatedBy: n.UpdatedBy, FirstSeen: n.FirstSeen,
	}
}

// registryBeat is the last heartbeat of an instance, and when its lease ends.
type registryBeat struct{ at, until time.Time }

type registryBeats map[registry.Key]registryBeat

// newest is the last sign of life of a node.
func (b registryBeats) newest(s *nodeState) time.Time {
	times := make(map[registry.Key]time.Time, len(b))
	for k, v := range b {
		times[k] = v.at
	}
	return newestBeat(s, times)
}

// heard returns when each instance of a node was last heard.
func (p *pages) heard(ctx context.Context, s *nodeState) (registryBeats, error) {
	times, err := p.beats(ctx, s.keys())
	if err != nil {
		return nil, err
	}
	out := registryBeats{}
	for _, i := range s.instances {
		at := times[i.Key]
		b := registryBeat{at: at}
		if !at.IsZero() {
			b.until = at.Add(i.Lease.Duration)
		}
		out[i.Key] = b
	}
	return out, nil
}
