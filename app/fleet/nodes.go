package fleet

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/configrevision"
	"eruptcloud/ent/node"
	"eruptcloud/ent/nodeextra"
	"eruptcloud/ent/nodehold"
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

// List returns one page of the profiles that f selects, by name, and how many it selects in all.
func (n *Nodes) List(ctx context.Context, f NodeFilter) ([]Node, int, error) {
	s, err := n.fresh(ctx)
	if err != nil {
		return nil, 0, err
	}
	query := folded(strings.TrimSpace(f.Query))
	var found []Node
	for _, p := range s.sorted {
		if (f.Enabled == nil || *f.Enabled == p.Enabled) && (f.Group == "" || s.below(p.GroupID, f.Group)) && s.matches(p, query) {
			found = append(found, p.Node)
		}
	}
	return page(found, f.Page, f.PageSize), len(found), nil
}

// matches reports whether a folded query stands in one of the texts that people know a node by.
func (s *snapshot) matches(p *profile, query string) bool {
	if query == "" {
		return true
	}
	texts := append([]string{p.Name, p.Display, p.Group, p.Remark}, p.Duty...)
	if g := s.byID[p.GroupID]; g != nil {
		texts = append(texts, g.Name)
	}
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(folded(t), query) })
}

// page cuts one page out of all.
func page[T any](all []T, number, size int) []T {
	if size <= 0 {
		size = 20
	}
	size = min(size, 500)
	last := max(1, (len(all)+size-1)/size)
	number = min(max(number, 1), last)
	return all[(number-1)*size : min(number*size, len(all))]
}

// Create adds a profile and returns it with its access token. fault.Conflict names a profile whose name differs at most in
// case (S29).
func (n *Nodes) Create(ctx context.Context, in NewNode) (Node, string, error) {
	w, err := n.newNodeRow(in)
	if err != nil {
		return Node{}, "", err
	}
	err = n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		names, err := forUpdate(n.db, tx.Node.Query()).Select(node.FieldNodeName).Strings(ctx)
		if err != nil {
			return err
		}
		if clash, taken := sameName(names, in.Name); taken {
			return fault.New(fault.Conflict, "a node %q exists already", clash).Field("name", "a node %q exists already", clash)
		}
		return n.insert(ctx, tx, in, w)
	})
	err = database.Mapped(err, nil, fault.New(fault.Conflict, "a node %q exists already", in.Name).Field("name", "a node %q exists already", in.Name))
	if err != nil {
		return Node{}, "", err
	}
	created, err := n.written(ctx, in.Name)
	return created, w.token, err
}

// nodeValues are the checked values of a NewNode.
type nodeValues struct{ token, sealed, duty, config, display string }

func (f *Fleet) newNodeRow(in NewNode) (w nodeValues, err error) {
	w.display = strings.TrimSpace(in.Display)
	if w.display == "" {
		w.display = in.Name
	}
	if w.token = in.Token; w.token == "" {
		w.token = newToken()
	}
	if err = first(nodeName(in.Name), accessToken(w.token), line("display", w.display), limited("remark", in.Remark, maxRemark)); err != nil {
		return w, err
	}
	if w.duty, err = dutyText(in.Duty); err != nil {
		return w, err
	}
	if w.config, err = checkConfig(in.Config); err != nil {
		return w, err
	}
	w.sealed, err = f.sealer.Seal(w.token)
	return w, err
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sameName finds a name that differs from want at most in case and blanks around it.
func sameName(names []string, want string) (string, bool) {
	for _, name := range names {
		if folded(strings.TrimSpace(name)) == folded(want) {
			return name, true
		}
	}
	return "", false
}

func (f *Fleet) insert(ctx context.Context, tx *ent.Tx, in NewNode, w nodeValues) error {
	groupID, err := f.groupID(ctx, tx, in.Group)
	if err != nil {
		return err
	}
	now := f.now()
	create := tx.Node.Create().SetNodeName(in.Name).SetName(w.display).SetStatus(flag(in.Enabled)).SetDuty(w.duty).
		SetConfig(w.config).SetAccessToken(w.sealed).SetRemark(in.Remark).SetNillableCloudNodeGroupID(groupID).
		SetCreateBy(in.By).SetUpdateBy(in.By).SetCreateTime(now).SetUpdateTime(now)
	row, err := create.Save(ctx)
	if err != nil {
		return err
	}
	extra := tx.NodeExtra.Create().SetNodeID(row.ID).SetCore(flag(in.Core))
	if w.config != "" {
		extra.SetConfigRevision(1)
		edit := ConfigEdit{JSON: w.config, Editor: in.By}
		if err := addRevision(ctx, tx, configrevision.OwnerNode, row.ID, 1, edit, now); err != nil {
			return err
		}
	}
	return extra.Exec(ctx)
}

// groupID finds a group and keeps it from being deleted before the transaction ends. No code is no group.
func (f *Fleet) groupID(ctx context.Context, tx *ent.Tx, code string) (*int64, error) {
	if code == "" {
		return nil, nil
	}
	row, err := groupRow(ctx, forUpdate(f.db, tx.Group.Query()), code)
	if ent.IsNotFound(err) {
		return nil, invalid("group", "no group has the code %q", code)
	} else if err != nil {
		return nil, err
	}
	return &row.ID, nil
}

// Update changes a profile. fault.NotFound if there is none.
func (n *Nodes) Update(ctx context.Context, name string, patch NodePatch) (Node, error) {
	err := n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		// Only the columns that change, and not by UpdateOneID, which reads all of them back: an adopted table may lack some.
		update := tx.Node.Update().Where(node.ID(row.ID)).SetUpdateBy(patch.By).SetUpdateTime(n.now())
		if err := n.patch(ctx, tx, update, name, patch); err != nil {
			return err
		}
		if err := update.Exec(ctx); err != nil {
			return err
		}
		return patchExtra(ctx, tx, row.ID, patch)
	})
	if err != nil {
		return Node{}, database.Mapped(err, noNode(name), nil)
	}
	return n.written(ctx, name)
}

func (f *Fleet) patch(ctx context.Context, tx *ent.Tx, update *ent.NodeUpdate, name string, patch NodePatch) error {
	if patch.Display != nil {
		display := strings.TrimSpace(*patch.Display)
		if display == "" {
			display = name
		}
		if err := line("display", display); err != nil {
			return err
		}
		update.SetName(display)
	}
	if patch.Remark != nil {
		if err := limited("remark", *patch.Remark, maxRemark); err != nil {
			return err
		}
		update.SetRemark(*patch.Remark)
	}
	if patch.Enabled != nil {
		update.SetStatus(flag(*patch.Enabled))
	}
	if patch.Duty != nil {
		duty, err := dutyText(*patch.Duty)
		if err != nil {
			return err
		}
		update.SetDuty(duty)
	}
	if patch.Group != nil {
		id, err := f.groupID(ctx, tx, *patch.Group)
		if err != nil {
			return err
		}
		if id == nil {
			update.ClearCloudNodeGroupID()
		} else {
			update.SetCloudNodeGroupID(*id)
		}
	}
	return nil
}

func patchExtra(ctx context.Context, tx *ent.Tx, id int64, patch NodePatch) error {
	if patch.Core == nil && patch.RawSession == nil {
		return nil
	}
	extra, err := nodeExtra(ctx, tx, id)
	if err != nil {
		return err
	}
	update := tx.NodeExtra.Update().Where(nodeextra.ID(extra.ID))
	if patch.Core != nil {
		update.SetCore(flag(*patch.Core))
	}
	if patch.RawSession != nil {
		update.SetRawSession(flag(*patch.RawSession))
	}
	return update.Exec(ctx)
}

// nodeExtra returns the extra row of a node and makes it where it is missing, as in an adopted database. The caller holds the
// node's row, so nobody else makes it meanwhile.
func nodeExtra(ctx context.Context, tx *ent.Tx, id int64) (*ent.NodeExtra, error) {
	extra, err := tx.NodeExtra.Query().Where(nodeextra.NodeID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return tx.NodeExtra.Create().SetNodeID(id).Save(ctx)
	}
	return extra, err
}

// Delete removes a profile with its config history and holds. fault.NotFound if there is none.
func (n *Nodes) Delete(ctx context.Context, name, by string) error {
	err := n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		if _, err := tx.ConfigRevision.Delete().Where(configrevision.OwnerEQ(configrevision.OwnerNode), configrevision.OwnerID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NodeExtra.Delete().Where(nodeextra.NodeID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NodeHold.Delete().Where(nodehold.NodeName(name)).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.Node.Delete().Where(node.ID(row.ID)).Exec(ctx)
		return err
	})
	if err != nil {
		return database.Mapped(err, noNode(name), nil)
	}
	n.afterWrite(ctx, kindNode, name)
	return nil
}

// MarkSeen notes the moment of a node's first accepted registration; later calls cost nothing.
func (n *Nodes) MarkSeen(ctx context.Context, name string) error {
	if known, ok := n.Cached(name); ok && !known.FirstSeen.IsZero() {
		return nil
	}
	changed := false
	err := n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		extra, err := nodeExtra(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		count, err := tx.NodeExtra.Update().Where(nodeextra.ID(extra.ID), nodeextra.FirstSeenIsNil()).SetFirstSeen(n.now()).Save(ctx)
		changed = count > 0
		return err
	})
	if err != nil {
		return database.Mapped(err, noNode(name), nil)
	}
	if changed {
		n.afterWrite(ctx, kindNode, name)
	}
	return nil
}
