package boot

import (
	"context"
	"strings"
)

// groupsOf returns from memory the ids of a node's group and of all above it, which rights are asked for with (D21).
func (d *Domain) groupsOf(node string) []int64 {
	n, ok := d.Fleet.Nodes.Cached(node)
	if !ok {
		return nil
	}
	return d.Fleet.Groups.Chain(n.GroupID)
}

// groupsOfAny is groupsOf for a name in any case, as it stands in permission codes.
func (d *Domain) groupsOfAny(node string) (groups []int64, known bool) {
	if n, ok := d.Fleet.Nodes.Cached(node); ok {
		return d.Fleet.Groups.Chain(n.GroupID), true
	}
	all, err := d.Fleet.Nodes.All(context.Background()) // from memory
	if err != nil {
		return nil, false
	}
	for _, n := range all {
		if strings.EqualFold(n.Name, node) {
			return d.Fleet.Groups.Chain(n.GroupID), true
		}
	}
	return nil, false
}
