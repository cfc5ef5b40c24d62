package console

import (
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// maxSwitch is how many instances the switcher names; the tab lists them all.
const maxSwitch = 50

// instanceJSON is an instance in JSON twins.
type instanceJSON struct {
	ID         string     `json:"id"`
	State      string     `json:"state"`
	Locations  []string   `json:"locations"`
	Version    string     `json:"version,omitempty"`
	Registered *time.Time `json:"registered,omitempty"`
	Heartbeat  *time.Time `json:"heartbeat,omitempty"`
	Token      string     `json:"token,omitempty"` // "old" in the grace time after a rotation
	Holds      []holdJSON `json:"holds,omitempty"`
	Drain      *drainJSON `json:"drain,omitempty"`
}

type holdJSON struct {
	Location string    `json:"location"`
	Reason   string    `json:"reason"`
	Account  string    `json:"account"`
	Since    time.Time `json:"since"`
}

type drainJSON struct {
	Reason   string     `json:"reason,omitempty"`
	Account  string     `json:"account,omitempty"` // empty: it said so itself
	InFlight int        `json:"inFlight"`
	Oldest   *time.Time `json:"oldest,omitempty"`
	Safe     bool       `json:"safeToStop"`
}

// nodeJSON is the twin of a node's page.
type nodeJSON struct {
	listed
	Headline  string         `json:"headline"`
	Duty      []string       `json:"duty,omitempty"`
	Remark    string         `json:"remark,omitempty"`
	Core      bool           `json:"core"`
	Revision  int64          `json:"revision"`
	Pages     []string       `json:"pages"`
	Instances []instanceJSON `json:"registered"`
}

func twinOf(c *gin.Context, n nodePage, rows []views.InstanceRow) nodeJSON {
	node := n.state.node
	out := nodeJSON{
		listed: listedOf(n.head.NodeRow), Headline: views.PlainText(views.NodeHeadline(c.Request.Context(), n.head)), Duty: node.Duty,
		Remark: node.Remark, Core: node.Core, Revision: node.Revision, Pages: n.state.erupts(), Instances: []instanceJSON{},
	}
	for _, r := range rows {
		out.Instances = append(out.Instances, instanceTwin(r))
	}
	return out
}

func instanceTwin(r views.InstanceRow) instanceJSON {
	out := instanceJSON{
		ID: r.ID, State: string(r.State), Locations: r.Locations, Version: r.Version, Registered: when(r.Registered), Heartbeat: when(r.Beat),
	}
	if r.OldToken {
		out.Token = string(fleet.TokenOld)
	}
	for _, h := range r.Holds {
		out.Holds = append(out.Holds, holdJSON{h.Location, h.Reason, h.Account, h.Since.UTC()})
	}
	if d := r.Drain; d != nil {
		out.Drain = &drainJSON{d.Reason, d.Account, d.Count, when(d.Oldest), d.Safe()}
	}
	return out
}

// showInstance handles GET /console/nodes/:node/instance?id=: ids are chosen by nodes and may hold what no path can.
func (p *pages) showInstance(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabInstances)
	if err != nil {
		return err
	}
	id := c.Query("id")
	at := slices.IndexFunc(n.state.instances, func(i instanceState) bool { return i.ID == id })
	if at < 0 {
		return fault.New(fault.NotFound, "instance %q of %q is not registered any more", id, n.state.node.Name)
	}
	i := n.state.instances[at]
	n.head.Instance = id
	m := views.InstancePage{
		NodeHead: n.head, Row: p.instanceRow(n, i, p.conflicts(n.state.node.Name)[i.Key]), Lease: i.Lease.Duration, Updated: i.Updated,
		Events: p.latest(c, n.state.node.Name, id),
	}
	m.Drains.NodeHead = n.head
	if d := p.drainView(i); d != nil {
		m.Drains.Drains = []views.DrainView{*d}
	}
	if i.Node != nil {
		m.Modules = i.Node.Modules
		m.Erupts = pageLinks(c, n.state.node.Name, i.Node.Erupts[:min(len(i.Node.Erupts), maxOverviewPages)])
		m.MoreErupts = len(i.Node.Erupts) - len(m.Erupts)
	}
	if i.Moved != nil {
		m.Moved, m.MovedAt = i.Moved.From, i.Moved.At
	}
	return web.Twin(c, instanceTwin(m.Row), views.InstanceShowPage(m), views.InstanceFragment, views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// exportInstances handles GET /console/nodes/:node/instances.csv: all instances of a node, the worst first (U81, S94).
func (p *pages) exportInstances(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabInstances)
	if err != nil {
		return err
	}
	ctx, conflicts := c.Request.Context(), p.conflicts(n.state.node.Name)
	header := titles(ctx, "instances.instance", "nodes.state", "instances.address", "nodes.version", "nodes.heartbeat", "instances.registered", "instances.peer",
		"instances.held_by", "instances.why")
	return web.CSV(c, "instances-"+n.state.node.Name, header, func(yield func([]any, error) bool) {
		for _, i := range worstFirst(n.state.instances) {
			r := p.instanceRow(n, i, conflicts[i.Key])
			who, why := "", ""
			switch {
			case len(r.Holds) > 0:
				who, why = r.Holds[0].Account, r.Holds[0].Reason
			case r.Drain != nil:
				who, why = r.Drain.Account, r.Drain.Reason
			}
			if !yield([]any{r.ID, views.T(ctx, r.State.Key()), strings.Join(r.Locations, " "), r.Version, r.Beat, r.Registered, r.Peer, who, why}, nil) {
				return
			}
		}
	})
}

// switcher lists the instances of a node to switch to.
func switcher(s *nodeState) []views.InstanceLink {
	var out []views.InstanceLink
	for _, i := range s.instances[:min(len(s.instances), maxSwitch)] {
		out = append(out, views.InstanceLink{ID: i.ID, Address: first(i.Locations), State: i.kind})
	}
	return out
}

// nodeArrival handles GET /console/nodes/:node/arrival: whether the first process of a new node has come.
func (p *pages) nodeArrival(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	state := judgeBy(oneNode(node), p.Registry.View(), p.orders())[0]
	return web.Render(c, views.Arrival(views.NodeArrival{
		Name: node.Name, State: state.kind, Instances: switcher(state), Refused: refusalViews(state.refused),
	}), views.ArrivalFragment)
}

func oneNode(n fleet.Node) []fleet.Node { return []fleet.Node{n} }

// refusalViews are the addresses that show a wrong token, as many as a notice holds.
func refusalViews(refused []fleet.Refusal) []views.RefusalView {
	const most = 5
	var out []views.RefusalView
	for _, r := range refused[:min(len(refused), most)] {
		out = append(out, views.RefusalView{Address: r.Address, Since: r.Since, Last: r.Last, Count: r.Count})
	}
	return out
}
