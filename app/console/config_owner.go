package console

import (
	"context"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/views"
)

// nodeConfig is the owner for /console/nodes/:node/config.
func (p *pages) nodeConfig(c *gin.Context) (configOwner, error) {
	n, err := p.nodePage(c, views.TabConfig)
	if err != nil {
		return configOwner{}, err
	}
	node := n.state.node
	if viewer(c).Holds(access.CodeGroups) {
		if n.head.Tree, err = p.configTree(c, "node:"+node.Name); err != nil {
			return configOwner{}, err
		}
	}
	return configOwner{
		ConfigTarget: views.ConfigTarget{Path: views.NodePath(node.Name, views.TabConfig), Title: node.Name, Node: n.head},
		subject:      node.Name, text: node.Config, revision: node.Revision, nodes: 1, instances: len(n.state.instances),
		set: func(ctx context.Context, e fleet.ConfigEdit) error {
			_, err := p.Nodes.SetConfig(ctx, node.Name, e)
			return err
		},
		revisions: func(ctx context.Context, limit int) ([]fleet.Revision, error) {
			return p.Nodes.Revisions(ctx, node.Name, limit)
		},
		effective: func(ctx context.Context) ([]views.EffectiveRow, error) { return p.effectiveOf(ctx, node.Name, n.tree) },
		may:       func(code string) error { return p.may(c, code, node) },
	}, nil
}

// effectiveOf lists what a node gets, key by key, with secrets masked.
func (p *pages) effectiveOf(ctx context.Context, name string, tree *groupTree) ([]views.EffectiveRow, error) {
	const most = 500
	e, err := p.Nodes.Effective(ctx, name)
	if err != nil {
		return nil, err
	}
	t, _ := parseTree(fleet.MaskConfig(e.JSON))
	var rows []views.EffectiveRow
	for _, l := range t.leaves() {
		if len(rows) == most {
			break
		}
		row := views.EffectiveRow{Key: l.key, Value: l.value, Masked: fleet.SecretKey(l.key)}
		if code, ok := strings.CutPrefix(e.Origin[l.top], "group:"); ok {
			row.Origin = tree.name(code)
		}
		if row.Masked {
			row.Value = ""
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// groupConfig is the owner for /console/groups/:group/config; a change concerns every node in it and below it.
func (p *pages) groupConfig(c *gin.Context) (configOwner, error) {
	g, err := p.groupFor(c, access.CodeGroups)
	if err != nil {
		return configOwner{}, err
	}
	states, tree, err := p.fleet(c, access.CodeGroups)
	if err != nil {
		return configOwner{}, err
	}
	o := configOwner{
		ConfigTarget: views.ConfigTarget{
			Path: views.GroupPath(g.Code, "/config"), Title: tree.name(g.Code), Group: g.Code, Side: configSide(states, tree, "group:"+g.Code),
		},
		subject: "group " + g.Code, text: g.Config, revision: g.Revision,
		set: func(ctx context.Context, e fleet.ConfigEdit) error {
			_, err := p.Groups.SetConfig(ctx, g.Code, e)
			return err
		},
		revisions: func(ctx context.Context, limit int) ([]fleet.Revision, error) {
			return p.Groups.Revisions(ctx, g.Code, limit)
		},
		may: func(code string) error { return p.mayGroup(c, code, &g) },
	}
	for _, s := range states {
		if tree.holds(g.Code, s.node.Group) {
			o.nodes++
			o.instances += len(s.instances)
		}
	}
	return o, nil
}

// configTree is the side list for a node's configuration: the nodes that the viewer sees, in the groups whose configurations he
// may look at; those of other groups stand beside all groups.
func (p *pages) configTree(c *gin.Context, current string) (*views.ConfigSide, error) {
	states, _, err := p.fleet(c, access.CodeNodes)
	if err != nil {
		return nil, err
	}
	groups, err := p.Groups.List(c.Request.Context())
	if err != nil {
		return nil, err
	}
	m := configSide(states, newGroupTree(p.visibleGroups(c, access.CodeGroups, groups)), current)
	return &m, nil
}

// configSide is the side list of all configurations.
func configSide(states []*nodeState, tree *groupTree, current string) views.ConfigSide {
	m := views.ConfigSide{Current: current}
	nodes := map[string][]views.ConfigLink{}
	within := ""
	for _, s := range states {
		group := s.node.Group
		if _, seen := tree.byCode[group]; !seen {
			group = ""
		}
		link := views.ConfigLink{
			Key: "node:" + s.node.Name, Name: s.node.Name, Path: views.NodePath(s.node.Name, views.TabConfig), Revision: s.node.Revision,
		}
		if link.Key == current && len(nodes[group]) >= maxConfigLinks { // the one that is looked at is always listed
			nodes[group] = slices.Insert(nodes[group], 0, link)
		} else {
			nodes[group] = append(nodes[group], link)
		}
		if link.Key == current {
			within = group
		}
	}
	for _, g := range tree.sorted {
		m.Groups = append(m.Groups, views.ConfigGroup{
			ConfigLink: views.ConfigLink{Key: "group:" + g.Code, Name: tree.name(g.Code), Path: views.GroupPath(g.Code, "/config"), Revision: g.Revision},
			Depth:      g.depth, Nodes: capped(nodes[g.Code]), Open: current == "group:"+g.Code || within == g.Code,
		})
	}
	m.Loose = capped(nodes[""])
	return m
}

// capped bounds a side list; the node list has them all.
func capped(links []views.ConfigLink) []views.ConfigLink {
	return links[:min(len(links), maxConfigLinks)]
}

// maxConfigLinks is how many nodes of a group the side list of configurations names.
const maxConfigLinks = 100
