package views

// GroupTree is the page of all groups.
type GroupTree struct {
	Rows []GroupRow
	Side ConfigSide
	Said string
}

// GroupRow is a group in the tree.
type GroupRow struct {
	Code, Name, Remark string
	Depth              int
	Nodes              int // directly in it
	Below              int // with those of groups below it
	Revision           int64
}

// GroupForm creates or changes a group. Code is fixed once it exists.
type GroupForm struct {
	Fields
	New                        bool
	Code, Name, Parent, Remark string
	Parents                    []GroupOption // groups it may be moved below
	MustHang                   bool          // the viewer may not make it a root
	Fixed                      bool          // its parent is none of the viewer's groups: it stays where it is
	Can                        func(code string) bool
	Nodes, Children            int // what hinders its deletion
	Side                       ConfigSide
	Said                       string
}

// KeepParent is what the form sends for a group that stays where it is, below a group that the viewer does not see.
const KeepParent = "*"

// ConfigSide is the side list of the configuration: groups, and in each its nodes.
type ConfigSide struct {
	Groups  []ConfigGroup
	Loose   []ConfigLink // nodes without a group
	Current string       // "group:CODE" or "node:NAME"
}

// ConfigGroup is a group in the configuration's side list.
type ConfigGroup struct {
	ConfigLink
	Depth int
	Nodes []ConfigLink
	Open  bool
}

// ConfigLink leads to one configuration.
type ConfigLink struct {
	Key, Name, Path string // Key as ConfigSide.Current
	Revision        int64
}

// revText writes a revision; before the first there is none.
func revText(n int64) string {
	if n == 0 {
		return ""
	}
	return "r" + Num(n)
}
