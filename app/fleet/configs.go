package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/configrevision"
	"eruptcloud/ent/group"
	"eruptcloud/ent/groupextra"
	"eruptcloud/ent/node"
	"eruptcloud/ent/nodeextra"
)

// SetConfig publishes a node's config as a new revision. fault.Conflict if the edit did not start from the newest one, and
// then nothing is changed.
func (n *Nodes) SetConfig(ctx context.Context, name string, e ConfigEdit) (Node, error) {
	text, err := checkConfig(e.JSON)
	if err != nil {
		return Node{}, err
	}
	e.JSON = text
	err = n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		// The lock makes the editors of one node wait for each other; whoever comes second finds a newer revision.
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		extra, err := nodeExtra(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		if extra.ConfigRevision != e.BaseRevision {
			return stale(ctx, tx, configrevision.OwnerNode, row.ID, e.BaseRevision)
		}
		newest, err := n.keepOutside(ctx, tx, configrevision.OwnerNode, row.ID, e.BaseRevision, outside{row.Config, row.UpdateBy, row.UpdateTime})
		if err != nil {
			return err
		}
		author, err := n.author(ctx, tx, e.Editor)
		if err != nil {
			return err
		}
		now := n.now()
		count, err := tx.NodeExtra.Update().Where(nodeextra.ID(extra.ID), nodeextra.ConfigRevision(e.BaseRevision)).SetConfigRevision(newest + 1).Save(ctx)
		if err != nil {
			return err
		}
		if count == 0 {
			return stale(ctx, tx, configrevision.OwnerNode, row.ID, e.BaseRevision)
		}
		if err := tx.Node.Update().Where(node.ID(row.ID)).SetConfig(e.JSON).SetUpdateBy(author).SetUpdateTime(now).Exec(ctx); err != nil {
			return err
		}
		return addRevision(ctx, tx, configrevision.OwnerNode, row.ID, newest+1, e, now)
	})
	if err != nil {
		return Node{}, database.Mapped(err, noNode(name), nil)
	}
	return n.written(ctx, name)
}

// SetConfig publishes a group's config as a new revision; the rules are those of Nodes.SetConfig.
func (g *Groups) SetConfig(ctx context.Context, code string, e ConfigEdit) (Group, error) {
	text, err := checkConfig(e.JSON)
	if err != nil {
		return Group{}, err
	}
	e.JSON = text
	err = g.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := groupRow(ctx, forUpdate(g.db, tx.Group.Query()), code)
		if err != nil {
			return err
		}
		extra, err := groupExtra(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		if extra.ConfigRevision != e.BaseRevision {
			return stale(ctx, tx, configrevision.OwnerGroup, row.ID, e.BaseRevision)
		}
		newest, err := g.keepOutside(ctx, tx, configrevision.OwnerGroup, row.ID, e.BaseRevision, outside{row.Config, row.UpdateBy, row.UpdateTime})
		if err != nil {
			return err
		}
		author, err := g.author(ctx, tx, e.Editor)
		if err != nil {
			return err
		}
		now := g.now()
		count, err := tx.GroupExtra.Update().Where(groupextra.ID(extra.ID), groupextra.ConfigRevision(e.BaseRevision)).SetConfigRevision(newest + 1).Save(ctx)
		if err != nil {
			return err
		}
		if count == 0 {
			return stale(ctx, tx, configrevision.OwnerGroup, row.ID, e.BaseRevision)
		}
		if err := tx.Group.Update().Where(group.ID(row.ID)).SetConfig(e.JSON).SetUpdateBy(author).SetUpdateTime(now).Exec(ctx); err != nil {
			return err
		}
		return addRevision(ctx, tx, configrevision.OwnerGroup, row.ID, newest+1, e, now)
	})
	if err != nil {
		return Group{}, database.Mapped(err, noGroup(code), nil)
	}
	return g.written(ctx, code)
}

// stale says who was faster (S28).
func stale(ctx context.Context, tx *ent.Tx, owner configrevision.Owner, id, base int64) error {
	newest, err := tx.ConfigRevision.Query().Where(configrevision.OwnerEQ(owner), configrevision.OwnerID(id)).
		Order(configrevision.ByRevision(desc)).First(ctx)
	if ent.IsNotFound(err) {
		return fault.New(fault.Conflict, "the config has no revision %d; load it again", base)
	} else if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "the config was changed by %s at %s: revision %d is the newest, the edit started from %d",
		newest.Author, newest.Created.UTC().Format("2006-01-02 15:04:05 UTC"), newest.Revision, base)
}

func addRevision(ctx context.Context, tx *ent.Tx, owner configrevision.Owner, id, number int64, e ConfigEdit, at time.Time) error {
	if err := first(line("editor", e.Editor), limited("address", e.Address, 64), limited("note", e.Note, maxRemark)); err != nil {
		return err
	}
	return tx.ConfigRevision.Create().SetOwner(owner).SetOwnerID(id).SetRevision(number).SetConfig(e.JSON).
		SetAuthor(e.Editor).SetAddress(e.Address).SetNote(e.Note).SetCreated(at).Exec(ctx)
}

// Revisions returns the newest revisions of a node's config, newest first; all of them if limit is not positive.
func (n *Nodes) Revisions(ctx context.Context, name string, limit int) ([]Revision, error) {
	known, err := n.ByName(ctx, name)
	if err != nil {
		return nil, err
	}
	return n.revisions(ctx, configrevision.OwnerNode, known.ID, limit)
}

// Revisions returns the newest revisions of a group's config, newest first; all of them if limit is not positive.
func (g *Groups) Revisions(ctx context.Context, code string, limit int) ([]Revision, error) {
	known, err := g.ByCode(ctx, code)
	if err != nil {
		return nil, err
	}
	return g.revisions(ctx, configrevision.OwnerGroup, known.ID, limit)
}

func (f *Fleet) revisions(ctx context.Context, owner configrevision.Owner, id int64, limit int) ([]Revision, error) {
	query := f.db.Client.ConfigRevision.Query().Where(configrevision.OwnerEQ(owner), configrevision.OwnerID(id)).
		Order(configrevision.ByRevision(desc))
	if limit > 0 {
		query.Limit(limit)
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	out := make([]Revision, len(rows))
	for i, r := range rows {
		out[i] = Revision{Number: r.Revision, Config: r.Config, Author: r.Author, Address: r.Address, Note: r.Note, Created: r.Created.UTC()}
	}
	return out, nil
}

// Effective returns the merged config of a node, from memory. fault.NotFound if there is no such node, fault.Invalid if one
// of the configs, which another program must have written, is no JSON object.
func (n *Nodes) Effective(ctx context.Context, name string) (Effective, error) {
	s, err := n.current(ctx)
	if err != nil {
		return Effective{}, err
	}
	if s.nodes[name] == nil {
		if _, err := n.lookup(ctx, name); err != nil {
			return Effective{}, database.Mapped(err, noNode(name), nil)
		}
		s = n.snapshot.Load()
	}
	if known, ok := s.effective.Load(name); ok {
		return known.(Effective), nil
	}
	p := s.nodes[name]
	if p == nil {
		return Effective{}, noNode(name) // deleted just now
	}
	merged, err := effective(s.chain(p.GroupID), p.Node)
	if err == nil {
		s.effective.Store(name, merged)
	}
	return merged, err
}

// effective merges the configs of groups, from the root down, and of the node.
func effective(chain []*Group, n Node) (Effective, error) {
	merged, origin := object{}, map[string]string{}
	apply := func(text, from, whose string) error {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		patch, err := parseObject(text)
		if err != nil {
			return fault.New(fault.Invalid, "the config of %s is not a JSON object", whose).Because(err)
		}
		merged = merge(merged, patch)
		for _, m := range patch {
			origin[m.key] = from
		}
		return nil
	}
	for _, g := range chain {
		if err := apply(g.Config, "group:"+g.Code, "group "+g.Code); err != nil {
			return Effective{}, err
		}
	}
	if err := apply(n.Config, "node", "node "+n.Name); err != nil {
		return Effective{}, err
	}
	var text bytes.Buffer
	merged.write(&text)
	sum := sha256.Sum256(text.Bytes())
	e := Effective{JSON: text.String(), Revision: hex.EncodeToString(sum[:]), Origin: map[string]string{}}
	for _, m := range merged {
		e.Origin[m.key] = origin[m.key] // keys that a null removed are gone
	}
	return e, nil
}
