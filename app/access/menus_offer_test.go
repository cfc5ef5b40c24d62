package access_test

import (
	"slices"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
)

// F14: a page becomes a menu with its six rights, in a folder of its node; once.
func TestOffer(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		page := access.Page{Node: "orders", NodeLabel: "Orders", Erupt: "Customer", Title: "Customers"}
		m, added, err := w.Menus.Offer(ctx, page)
		if err != nil || !added || m.Code != "orders.Customer" || m.Name != "Customers" || m.Type != "table" || m.Value != "orders.Customer" || m.ParentCode != "$node.orders" {
			t.Fatalf("Offer = %+v, %v, %v", m, added, err)
		}
		if folder, err := w.Menus.ByCode(ctx, "$node.orders"); err != nil || folder.Name != "Orders" || folder.Type != "" {
			t.Errorf("folder %+v, %v", folder, err)
		}
		if again, added, err := w.Menus.Offer(ctx, page); err != nil || added || again.ID != m.ID {
			t.Errorf("a second time: %+v, %v, %v; want the one that is there", again, added, err)
		}
		if other, added, err := w.Menus.Offer(ctx, access.Page{Node: "orders", Erupt: "Item"}); err != nil || !added || other.Name != "Item" || other.Parent != m.Parent {
			t.Errorf("another page of the node: %+v, %v, %v", other, added, err)
		}
		all, err := w.Menus.All(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var rights []string
		for _, b := range all {
			if b.Parent == m.ID {
				rights = append(rights, b.Value)
			}
		}
		want := []string{"orders.Customer@ADD", "orders.Customer@EDIT", "orders.Customer@DELETE", "orders.Customer@EXPORT", "orders.Customer@IMPORTABLE", "orders.Customer@VIEW_DETAIL"}
		if !slices.Equal(rights, want) {
			t.Errorf("rights %q, want %q", rights, want)
		}
		w.menu(t, "tree", "orders.Region")
		if have, added, err := w.Menus.Offer(ctx, access.Page{Node: "orders", Erupt: "region"}); err != nil || added || have.Type != "tree" {
			t.Errorf("a page that is a tree's: %+v, %v, %v; want that tree", have, added, err)
		}
		if _, err := w.Menus.Create(ctx, access.NewMenu{Code: "orders.Taken", Name: "x"}); err != nil {
			t.Fatal(err)
		}
		if m, added, err := w.Menus.Offer(ctx, access.Page{Node: "orders", Erupt: "Taken"}); err != nil || !added || m.Value != "orders.Taken" || m.Code == "orders.Taken" {
			t.Errorf("its code is used for another thing: %+v, %v, %v", m, added, err)
		}
	})
}

// Who may edit menus must not gain a right by the buttons that follow a menu's value, nor by waking what an admin disabled.
func TestMenuChangesGiveNoRights(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, value := range []string{"shop.A", "shop.B", "shop.C"} {
			w.menu(t, "table", value)
		}
		all, err := w.Menus.All(ctx)
		if err != nil {
			t.Fatal(err)
		}
		mine := []string{"shop.A", "shop.B", "shop.C"}
		for _, m := range all {
			if m.Value == "shop.A@DELETE" {
				mine = append(mine, m.Code)
			}
		}
		w.role(t, "mine", mine...)
		w.user(t, "helper", withRoles("mine"))
		helper := access.Actor{Account: "helper"}
		_, err = w.Menus.Update(ctx, "shop.A", access.MenuPatch{Value: p("shop.B"), By: helper})
		wants(t, "shop.A@DELETE becomes shop.B@DELETE", err, fault.Forbidden)
		if _, err := w.Menus.Update(ctx, "shop.C", access.MenuPatch{Status: p(access.MenuDisabled), By: access.System}); err != nil {
			t.Fatal(err)
		}
		_, err = w.Menus.Update(ctx, "shop.C", access.MenuPatch{Status: p(access.MenuOpen), By: helper})
		wants(t, "waking a disabled menu", err, fault.Forbidden)
		if _, err := w.Menus.Update(ctx, "shop.C", access.MenuPatch{Status: p(access.MenuHidden), By: access.System}); err != nil {
			t.Errorf("waking by the system: %v", err)
		}
	})
}
