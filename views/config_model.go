package views

import (
	"context"
	"time"
)

// ConfigTarget is whose configuration a page shows.
type ConfigTarget struct {
	Path  string   // of the editor: /console/nodes/NAME/config or /console/groups/CODE/config
	Title string   // name of the node or group
	Node  NodeHead // for a node: the page around the tab
	Group string   // for a group: its code
	Side  ConfigSide
	Edit  bool // the viewer may publish
}

// ConfigEditor is the page where a configuration is written.
type ConfigEditor struct {
	ConfigTarget
	Text      string
	Revision  int64 // that the text started from
	Problem   Problem
	Note      string
	History   []RevisionRow
	Effective []EffectiveRow // nodes only
	Said      string
	// Based: the text is a copy of an older revision, or was merged after a conflict.
	Based Say
}

// Problem is what is wrong with a text; Line 0 means nothing is.
type Problem struct {
	Line, Column int
	Message      string
}

// RevisionRow is one published revision.
type RevisionRow struct {
	Number                int64
	Author, Address, Note string
	Created               time.Time
	Size                  int
	Current               bool
}

// EffectiveRow is one key of a node's effective configuration and where it comes from.
type EffectiveRow struct {
	Key, Value string
	Origin     string // group's name, empty: the node itself
	Masked     bool
}

// ConfigReview is the step before publishing: what changes and for whom.
type ConfigReview struct {
	ConfigTarget
	Text             string
	Revision         int64
	Note             string
	Diff             []DiffRow
	Changed          []string // keys
	Nodes, Instances int      // affected
	Fields           Fields
}

// ConfigConflict shows what somebody else published while the viewer wrote.
type ConfigConflict struct {
	ConfigTarget
	Base, Theirs, Mine string
	BaseRevision       int64
	Their              RevisionRow
	Merged             string
	Clashes            []string // keys that both changed differently; Merged has the viewer's value
	Note               string
}

// ConfigCompare shows two revisions beside each other.
type ConfigCompare struct {
	ConfigTarget
	From, To RevisionRow
	Diff     []DiffRow
	Changed  []string
}

// DiffRow is a line of a comparison; numbers are 0 where a side has no line.
type DiffRow struct {
	OldNum, NewNum int
	Old, New       string
	Changed        bool
	Skipped        int // lines left out before this one; then there is nothing else in it
}

// headline says what publishing does.
func (m ConfigReview) headline(ctx context.Context) string {
	if len(m.Changed) == 0 {
		return T(ctx, "config.no_change")
	}
	keys := T(ctx, "config.keys", "count", len(m.Changed), "n", Num(len(m.Changed)))
	nodes := T(ctx, "nodes.nodes", "count", m.Nodes, "n", Num(m.Nodes))
	instances := T(ctx, "nodes.instances", "count", m.Instances, "n", Num(m.Instances))
	return T(ctx, "config.headline", "keys", keys, "nodes", nodes, "instances", instances)
}

// bound shortens a list of keys for a line of text.
func bound(ctx context.Context, keys []string) string {
	const most = 12
	out := ""
	for i, k := range keys {
		if i == most {
			return out + " " + T(ctx, "config.more", "n", Num(len(keys)-most))
		}
		if i > 0 {
			out += ", "
		}
		out += k
	}
	return out
}
