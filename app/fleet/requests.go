package fleet

// NewNode is a wish to create a profile.
type NewNode struct {
	Name    string // see Node.Name
	Display string // Name if empty
	Group   string // code, empty: none
	Token   string // generated if empty
	Enabled bool
	Duty    []string
	Remark  string
	Core    bool
	Config  string // a JSON object, or empty
	By      string // who wishes it
}

// NodePatch changes the fields that are not nil.
type NodePatch struct {
	Display, Group, Remark    *string // Group: code, empty for none
	Enabled, Core, RawSession *bool
	Duty                      *[]string
	By                        string
}

// NodeFilter selects profiles. The zero value selects all, twenty a page.
type NodeFilter struct {
	// Query is looked for in name, display name, group, duty and remark, whatever the case.
	Query   string
	Group   string // code: the nodes of this group and of those below it
	Enabled *bool
	Page    int // from 1; past the end it is the last one
	// PageSize is 20 if zero and at most 500.
	PageSize int
}

// NewGroup is a wish to create a group.
type NewGroup struct {
	Code   string // [A-Za-z0-9_-]{1,64}
	Name   string // Code if empty
	Parent string // code, empty: root
	Remark string
	Config string // a JSON object, or empty
	By     string
}

// GroupPatch changes the fields that are not nil.
type GroupPatch struct {
	Name, Parent, Remark *string // Parent: code, empty for a root
	By                   string
}
