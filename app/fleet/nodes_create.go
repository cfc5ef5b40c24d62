package fleet

import (
	"context"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/configrevision"
	"eruptcloud/ent/node"
)

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
	author, err := f.author(ctx, tx, in.By)
	if err != nil {
		return err
	}
	now := f.now()
	create := tx.Node.Create().SetNodeName(in.Name).SetName(w.display).SetStatus(flag(in.Enabled)).SetDuty(f.dutyColumn(w.duty)).
		SetConfig(w.config).SetAccessToken(w.sealed).SetRemark(in.Remark).SetNillableCloudNodeGroupID(groupID).
		SetCreateBy(author).SetUpdateBy(author).SetCreateTime(now).SetUpdateTime(now)
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
