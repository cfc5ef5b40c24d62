package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/testbed"
)

// TestAGroupThatLimitsRolesStays: a role must not count in a group that is none (D21).
func TestAGroupThatLimitsRolesStays(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		f, _ := open(t, db)
		east, west := mustGroup(t, f, fleet.NewGroup{Code: "east"}), mustGroup(t, f, fleet.NewGroup{Code: "west"})
		ctx := t.Context()
		for i, groups := range []string{fmt.Sprintf("[%d,%d]", east.ID, 4711), fmt.Sprintf("[%d]", east.ID*1000), "", "[1,"} {
			r := db.Client.Role.Create().SetCode(fmt.Sprint("r", i)).SetName(fmt.Sprint("Role ", i)).SaveX(ctx)
			db.Client.RoleExtra.Create().SetRoleID(r.ID).SetNodeGroups(groups).ExecX(ctx)
		}
		err := f.Groups.Delete(ctx, "east", "li")
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), ": Role 0; ") {
			t.Errorf("Delete = %v, want a conflict that names the role", err)
		}
		if err := f.Groups.Delete(ctx, west.Code, "li"); err != nil {
			t.Errorf("Delete of a group that limits nobody = %v", err)
		}
		db.Client.RoleExtra.Update().SetNodeGroups("").ExecX(ctx)
		if err := f.Groups.Delete(ctx, "east", "li"); err != nil {
			t.Errorf("Delete after the roles changed = %v", err)
		}
	})
}
