package fleet

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/role"
	"eruptcloud/ent/roleextra"
)

// notLimiting returns fault.Conflict if roles count in the group only (D21): without it they would name a group that is none, and
// another group that gets its id one day would be theirs.
func notLimiting(ctx context.Context, tx *ent.Tx, code string, id int64) error {
	limited, err := tx.RoleExtra.Query().Where(roleextra.NodeGroupsNEQ("")).All(ctx)
	if err != nil {
		return err
	}
	var roles []int64
	for _, r := range limited {
		var groups []int64
		if json.Unmarshal([]byte(r.NodeGroups), &groups) == nil && slices.Contains(groups, id) {
			roles = append(roles, r.RoleID)
		}
	}
	if len(roles) == 0 {
		return nil
	}
	names, err := tx.Role.Query().Where(role.IDIn(roles...)).Order(role.ByName()).Select(role.FieldName).Strings(ctx)
	if err != nil || len(names) == 0 { // what a deleted role left behind limits nobody
		return err
	}
	return fault.New(fault.Conflict, "roles are limited to the group %q: %s; change them first", code, strings.Join(names, ", "))
}
