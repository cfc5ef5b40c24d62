package access

import (
	"context"
	"encoding/json"
	"slices"

	"eruptcloud/app/database"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/group"
	"eruptcloud/ent/roleextra"
)

// mostRoleGroups is what fits into the column of a role's groups, whatever their ids are.
const mostRoleGroups = 190

// limited is the limit of a role after a change.
func (r *Roles) limited(ctx context.Context, before Role, p RolePatch) (limit, error) {
	as := limit{readOnly: before.ReadOnly, groups: before.Groups}
	if p.ReadOnly != nil {
		as.readOnly = *p.ReadOnly
	}
	if p.Groups != nil {
		as.groups = within(*p.Groups).groups
		if err := r.checkGroups(ctx, as.groups, before.Groups); err != nil {
			return limit{}, err
		}
	}
	return as, nil
}

// checkGroups refuses groups that do not exist, except those that the role has already.
func (r *Roles) checkGroups(ctx context.Context, want, have []int64) error {
	if len(want) == 0 {
		return nil
	}
	if len(want) > mostRoleGroups {
		return fieldFault(nil, "groups", "are more than %d; name groups that lie above them", mostRoleGroups)
	}
	known, err := r.db.Client.Group.Query().Where(group.IDIn(want...)).IDs(ctx)
	if err != nil {
		return database.Mapped(err, nil, nil)
	}
	for _, id := range want {
		if !slices.Contains(known, id) && !slices.Contains(have, id) {
			return fieldFault(nil, "groups", "name a group that does not exist")
		}
	}
	return nil
}

// write stores what a role is limited to. A role without limits has no row.
func (l limit) write(ctx context.Context, tx *ent.Tx, id int64) error {
	if !l.readOnly && len(l.groups) == 0 {
		_, err := tx.RoleExtra.Delete().Where(roleextra.RoleID(id)).Exec(ctx)
		return err
	}
	groups := ""
	if len(l.groups) > 0 {
		text, err := json.Marshal(l.groups)
		if err != nil {
			return err
		}
		groups = string(text)
	}
	changed, err := tx.RoleExtra.Update().Where(roleextra.RoleID(id)).SetReadOnly(dbtype.Flag(l.readOnly)).SetNodeGroups(groups).Save(ctx)
	if err != nil || changed > 0 {
		return err
	}
	exists, err := tx.RoleExtra.Query().Where(roleextra.RoleID(id)).Exist(ctx) // MySQL counts no row that stays as it is
	if err != nil || exists {
		return err
	}
	return tx.RoleExtra.Create().SetRoleID(id).SetReadOnly(dbtype.Flag(l.readOnly)).SetNodeGroups(groups).Exec(ctx)
}
