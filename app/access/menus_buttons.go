package access

import (
	"context"
	"slices"
	"strings"

	"eruptcloud/ent"
	"eruptcloud/ent/menu"
)

// functions are the six of erupt with the names of their buttons, in their order (erupt-wire 5.3).
var functions = []struct{ Code, Name string }{
	{"ADD", "ADD"}, {"EDIT", "EDIT"}, {"DELETE", "DELETE"}, {"EXPORT", "EXPORT"}, {"IMPORTABLE", "IMPORT"}, {"VIEW_DETAIL", "DETAIL"},
}

// functionsOf are the functions of a type of page: all of a table or a tree, adding and changing of a form.
func functionsOf(kind string) []struct{ Code, Name string } {
	switch kind {
	case TypeTable, TypeTree:
		return functions
	case TypeForm:
		return functions[:2]
	}
	return nil
}

// addButtons creates the buttons of a page that are missing.
func addButtons(ctx context.Context, tx *ent.Tx, row *ent.Menu) error {
	wanted := functionsOf(row.Type)
	if len(wanted) == 0 {
		return nil
	}
	have, err := tx.Menu.Query().Where(menu.ParentMenuID(row.ID)).Select(menu.FieldValue).Strings(ctx)
	if err != nil {
		return err
	}
	var missing []*ent.MenuCreate
	for i, f := range wanted {
		value := row.Value + "@" + f.Code
		if slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, value) }) {
			continue
		}
		missing = append(missing, tx.Menu.Create().SetCode(randomText(alphanumerics, 8)).SetName(f.Name).SetType(TypeButton).
			SetValue(value).SetStatus(int(MenuOpen)).SetParentMenuID(row.ID).SetSort(10*(i+1)))
	}
	return tx.Menu.CreateBulk(missing...).Exec(ctx)
}

// renameButtons gives children named after the old value, x@FUNCTION, the new one.
func renameButtons(ctx context.Context, tx *ent.Tx, before Menu, value string) error {
	if before.Value == "" || value == before.Value || value == "" {
		return nil
	}
	rows, err := tx.Menu.Query().Where(menu.ParentMenuID(before.ID), menu.ValueHasPrefix(before.Value+"@")).All(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		function := strings.TrimPrefix(r.Value, before.Value)
		if err := tx.Menu.Update().Where(menu.ID(r.ID)).SetValue(value + function).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
