package access

import (
	"context"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent/menu"
)

// mayChange refuses a change that gives a right which by does not hold: who may edit menus could otherwise turn one that he
// has into any right, by its value, by the values of its buttons, which follow it, or by waking a disabled one.
func (m *Menus) mayChange(ctx context.Context, by Actor, before Menu, after NewMenu) error {
	renamed := after.Value != "" && permissionKey(after.Value) != permissionKey(before.Value)
	woken := before.Status == MenuDisabled && after.Status != MenuDisabled && after.Value != ""
	if !renamed && !woken {
		return nil
	}
	s, err := m.people.session(ctx, by.Account)
	if err != nil {
		return actorUnknown(by, err)
	}
	given := []string{after.Value}
	if renamed && before.Value != "" {
		below, err := m.db.Client.Menu.Query().Where(menu.ParentMenuID(before.ID), menu.ValueHasPrefix(before.Value+"@")).All(ctx)
		if err != nil {
			return database.Mapped(err, nil, nil)
		}
		for _, b := range below {
			given = append(given, after.Value+strings.TrimPrefix(b.Value, before.Value))
		}
	}
	for _, value := range given {
		if s.holdsFully(permissionKey(value)) {
			continue
		}
		if !renamed {
			return fault.New(fault.Forbidden, "you can only enable a menu whose value you hold yourself").Field("status", "you do not hold it")
		}
		return fault.New(fault.Forbidden, "you can only give a menu a value that you hold yourself").Field("value", "you do not hold it")
	}
	return nil
}
