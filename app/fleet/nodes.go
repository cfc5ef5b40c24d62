package fleet

import (
	"context"
	"log/slog"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
)

func noNode(name string) *fault.Error { return fault.New(fault.NotFound, "no node is called %q", name) }

// ByName returns the profile of a node as the database has it now. fault.NotFound if there is none.
func (n *Nodes) ByName(ctx context.Context, name string) (Node, error) {
	p, err := n.lookup(ctx, name)
	if err != nil {
		return Node{}, database.Mapped(err, noNode(name), nil)
	}
	return p.Node, nil
}

// lookup asks the database for a profile. For a name that nobody knows it does so only now and then; then and for a missing
// row it returns an ent.NotFoundError.
func (f *Fleet) lookup(ctx context.Context, name string) (*profile, error) {
	s, err := f.current(ctx)
	if err != nil {
		return nil, err
	}
	if s.nodes[name] == nil {
		if len(name) > 4*maxName || f.misses.has(name) {
			return nil, &ent.NotFoundError{}
		}
		if !f.lookups.AllowN(f.clock(), 1) {
			return nil, fault.New(fault.TooMany, "too many requests for unknown nodes; try again").Retry(time.Second)
		}
	}
	var p *profile
	err = f.db.InSnapshot(ctx, func(ctx context.Context, tx *ent.Tx) (err error) {
		p, err = f.readProfile(ctx, tx, name)
		return err
	})
	if ent.IsNotFound(err) {
		f.misses.add(name)
	}
	if (err == nil) != (s.nodes[name] != nil) && (err == nil || ent.IsNotFound(err)) {
		// Another process made or deleted it without telling: the memory, and whoever listens, should know.
		if err := f.reload(ctx, change{Kind: kindNode, ID: name}); err != nil {
			slog.WarnContext(ctx, "fleet: cannot follow a change; the next refresh will", "node", name, "error", err)
		}
	}
	return p, err
}

// written returns a profile after a write that was committed, without asking again if the memory has followed: the caller's
// context may have ended since.
func (n *Nodes) written(ctx context.Context, name string) (Node, error) {
	if n.afterWrite(ctx, kindNode, name) {
		if known, ok := n.Cached(name); ok {
			return known, nil
		}
	}
	return n.ByName(ctx, name)
}

// Cached returns the profile with this exact name from memory.
func (n *Nodes) Cached(name string) (Node, bool) {
	s := n.snapshot.Load()
	if s == nil || s.nodes[name] == nil {
		return Node{}, false
	}
	return s.nodes[name].Node, true
}

// All returns all profiles from memory, by name.
func (n *Nodes) All(ctx context.Context) ([]Node, error) {
	s, err := n.current(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Node, len(s.sorted))
	for i, p := range s.sorted {
		out[i] = p.Node
	}
	return out, nil
}
