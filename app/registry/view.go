package registry

// View is one immutable state of the registry.
type View struct{ seq Seq }

// Seq returns the log position of the view.
func (v *View) Seq() Seq { return v.seq }

// Node returns the instances of a node (OriginNode), oldest first. The slice is shared: do not change it.
func (v *View) Node(name string) []Instance { return nil }

// Instance returns one instance.
func (v *View) Instance(k Key) (Instance, bool) { return Instance{}, false }

// All returns all instances by app and id. The slice is shared: do not change it.
func (v *View) All() []Instance { return nil }

// ByLocation returns the instance of a node that has location.
func (v *View) ByLocation(node, location string) (Instance, bool) { return Instance{}, false }

// Recent returns the changes of the last three minutes, oldest first.
func (v *View) Recent() []Change { return nil }
