package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"eruptcloud/app/fault"
)

// Page is a page of a node that becomes a menu, so that roles can grant it.
type Page struct {
	Node, NodeLabel string
	Erupt, Title    string
	Type            string // of the menu: table, tree or form; empty: table
}

func (p Page) full() string { return p.Node + "." + p.Erupt }

// PageMenus finds, among menus, those that open a page and thereby give its right, by the page's full name as Holds compares it.
func PageMenus(all []Menu) map[string]Menu {
	out := map[string]Menu{}
	for _, m := range all {
		if len(functionsOf(m.Type)) > 0 {
			out[permissionKey(m.Value)] = m
		}
	}
	return out
}

// Offer makes a page a table menu in the folder of its node, which it makes too if it is missing. A page that has a menu
// keeps it: added is false then.
func (m *Menus) Offer(ctx context.Context, p Page) (made Menu, added bool, err error) {
	all, err := m.All(ctx)
	if err != nil {
		return Menu{}, false, err
	}
	if have, ok := PageMenus(all)[permissionKey(p.full())]; ok {
		return have, false, nil
	}
	folder := folderCode(p.Node)
	_, err = m.Create(ctx, NewMenu{Code: folder, Name: orText(p.NodeLabel, p.Node), Icon: "fa fa-cloud"})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return Menu{}, false, err
	}
	n := NewMenu{Name: orText(p.Title, p.Erupt), Type: orText(p.Type, TypeTable), Value: p.full(), Parent: folder}
	if isCode(p.full()) {
		n.Code = p.full() // two who offer the same page at once make one menu
	}
	made, err = m.Create(ctx, n)
	if fault.Is(err, fault.Conflict) {
		if have, found := m.ByCode(ctx, n.Code); found == nil && permissionKey(have.Value) == permissionKey(p.full()) {
			return have, false, nil
		}
		n.Code = "" // somebody uses it for another thing
		made, err = m.Create(ctx, n)
	}
	return made, err == nil, err
}

// folderCode is the code of the menu that a node's pages lie below.
func folderCode(node string) string {
	code := "$node." + node
	if !isCode(code) {
		sum := sha256.Sum256([]byte(node))
		code = "$node." + hex.EncodeToString(sum[:16])
	}
	return code
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
