package views

// NodeForm is the page that creates a node.
type NodeForm struct {
	Fields
	Name, Display, Group, Duty, Remark string
	Enabled, Core                      bool
	Groups                             []GroupOption
	MustPlace                          bool // the viewer may create nodes in groups only
	Side                               GroupSide
}

// NodeCreated shows a new node's token, once.
type NodeCreated struct {
	Name    string
	Connect SnippetModel
	Side    GroupSide
}

// NodeSettings is the tab that changes a node's profile.
type NodeSettings struct {
	NodeHead
	Fields
	Display, Group, Duty, Remark string
	Core, RawSession             bool
	Groups                       []GroupOption
	MustPlace                    bool // the viewer may not take it out of all groups
	// Typed is what was typed to confirm the deletion, when it did not match.
	Typed string
}
