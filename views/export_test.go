package views

// Parts of pages for golden files.
var (
	NodesTable      = nodesTable
	NodeHeader      = nodeHead
	InstanceSection = instanceSection
)
