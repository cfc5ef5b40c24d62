package registry

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"
)

// recentWindow is how long View.Recent looks back (the reference's delta retention, eureka 4).
const recentWindow = 3 * time.Minute

// shards bounds what one change copies: the map of a 64th of the apps, and the instances of its own app.
const shards = 64

// View is one immutable state of the registry. What it hands out is shared: nobody changes it.
type View struct {
	seq    Seq
	apps   [shards]map[string]*appView
	recent []Change
	now    func() time.Time
	all    *lazily[[]Instance]
}

// appView is one app's instances; immutable but for what is computed on first use.
type appView struct {
	byID  []*Instance // sorted by id
	nodes lazily[nodeView]
}

// nodeView is an app as the instances of one node.
type nodeView struct {
	oldest    []Instance     // OriginNode, oldest registration first
	owner     map[string]int // location → index in oldest of the latest claim
	contested bool           // two instances have one location
}

type lazily[T any] struct {
	once  sync.Once
	value T
}

func (l *lazily[T]) get(build func() T) T {
	l.once.Do(func() { l.value = build() })
	return l.value
}

var seed = maphash.MakeSeed()

func shardOf(app []byte) int { return int(maphash.Bytes(seed, app) % shards) }

// Seq returns the log position of the view.
func (v *View) Seq() Seq { return v.seq }

// Node returns the instances of a node (OriginNode), oldest first. Letter case of name makes no difference.
func (v *View) Node(name string) []Instance {
	a := v.app(name)
	if a == nil {
		return nil
	}
	return a.node().oldest
}

// Instance returns one instance.
func (v *View) Instance(k Key) (Instance, bool) {
	a := v.app(k.App)
	if a == nil {
		return Instance{}, false
	}
	i, ok := a.find(k.ID)
	if !ok {
		return Instance{}, false
	}
	return *a.byID[i], true
}

// All returns all instances by app and id.
func (v *View) All() []Instance {
	return v.all.get(func() []Instance {
		var all []Instance
		for _, shard := range v.apps {
			for _, a := range shard {
				for _, in := range a.byID {
					all = append(all, *in)
				}
			}
		}
		slices.SortFunc(all, func(a, b Instance) int { return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.ID, b.ID)) })
		return all
	})
}

// ByLocation returns the instance of a node that has location.
func (v *View) ByLocation(node, location string) (Instance, bool) {
	a := v.app(node)
	if a == nil {
		return Instance{}, false
	}
	n := a.node()
	i, ok := n.owner[location]
	if !ok {
		return Instance{}, false
	}
	return n.oldest[i], true
}

// Recent returns the changes of the last three minutes, oldest first.
func (v *View) Recent() []Change {
	recent := since(v.recent, v.now().Add(-recentWindow))
	return recent[:len(recent):len(recent)]
}

func since(changes []Change, from time.Time) []Change {
	i := slices.IndexFunc(changes, func(c Change) bool { return !c.At.Before(from) })
	if i < 0 {
		return nil
	}
	return changes[i:]
}

// contested reports whether two instances of node have one location.
func (v *View) contested(node string) bool {
	a := v.app(node)
	return a != nil && a.node().contested
}

// app finds an app by a name in any case; it does not allocate for names of nodes.
func (v *View) app(name string) *appView {
	var buf [64]byte
	upper, ok := upperASCII(buf[:0], name)
	if !ok {
		upper = []byte(strings.ToUpper(name))
	}
	return v.apps[shardOf(upper)][string(upper)]
}

func upperASCII(buf []byte, name string) ([]byte, bool) {
	if len(name) > cap(buf) {
		return nil, false
	}
	for i := range len(name) {
		c := name[i]
		if c >= 0x80 {
			return nil, false
		}
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		buf = append(buf, c)
	}
	return buf, true
}

func (a *appView) find(id string) (int, bool) {
	return slices.BinarySearchFunc(a.byID, id, func(in *Instance, id string) int { return cmp.Compare(in.ID, id) })
}

func (a *appView) node() *nodeView {
	a.nodes.once.Do(func() {
		n := &a.nodes.value
		for _, in := range a.byID {
			if in.Origin == OriginNode {
				n.oldest = append(n.oldest, *in)
			}
		}
		slices.SortStableFunc(n.oldest, func(a, b Instance) int { return a.Registered.Compare(b.Registered) })
		n.owner = make(map[string]int, len(n.oldest))
		for i, in := range n.oldest {
			for _, l := range in.Locations {
				other, taken := n.owner[l]
				n.contested = n.contested || taken
				if !taken || later(in, n.oldest[other]) {
					n.owner[l] = i
				}
			}
		}
	})
	return &a.nodes.value
}

// edit makes the next view of a table; it copies an app once, however many of its instances change.
type edit struct {
	next   View
	copied [shards]bool
	apps   map[string]*appView // this edit's own copies
}

func (v *View) edit() *edit {
	return &edit{
		next: View{seq: v.seq, apps: v.apps, recent: v.recent, now: v.now, all: &lazily[[]Instance]{}},
		apps: map[string]*appView{},
	}
}

func (e *edit) app(name string) *appView {
	if a, ok := e.apps[name]; ok {
		return a
	}
	shard := shardOf([]byte(name))
	if !e.copied[shard] {
		next := make(map[string]*appView, len(e.next.apps[shard])+1)
		for k, a := range e.next.apps[shard] {
			next[k] = a
		}
		e.next.apps[shard], e.copied[shard] = next, true
	}
	a := &appView{}
	if old := e.next.apps[shard][name]; old != nil {
		a.byID = slices.Clone(old.byID)
	}
	e.next.apps[shard][name], e.apps[name] = a, a
	return a
}

// put stores in unless something newer is there, and reports whether it did.
func (e *edit) put(in *Instance) bool {
	a := e.app(in.App)
	i, found := a.find(in.ID)
	switch {
	case found && !a.byID[i].Unconfirmed && a.byID[i].Rev > in.Rev:
		return false
	case found:
		a.byID[i] = in
	default:
		a.byID = slices.Insert(a.byID, i, in)
	}
	return true
}

// drop takes k out unless it was stored after seq, and returns what it was.
func (e *edit) drop(k Key, seq Seq) *Instance {
	a := e.app(k.App)
	i, found := a.find(k.ID)
	if !found || !a.byID[i].Unconfirmed && a.byID[i].Rev > seq {
		return nil
	}
	old := a.byID[i]
	a.byID = slices.Delete(a.byID, i, i+1)
	return old
}

func (e *edit) done() *View {
	for name, a := range e.apps {
		if len(a.byID) == 0 {
			delete(e.next.apps[shardOf([]byte(name))], name)
		}
	}
	return &e.next
}
