package console

import (
	"cmp"
	"slices"

	"eruptcloud/app/access"
)

// placedMenu is a menu and how deep it lies.
type placedMenu struct {
	access.Menu
	depth int
}

// menuTree lists all menus as a tree, each before those below it. Menus that lie in a circle or below a missing one come too.
func menuTree(menus []access.Menu) []placedMenu {
	byParent := map[int64][]access.Menu{}
	known := map[int64]bool{}
	for _, m := range menus {
		known[m.ID] = true
	}
	for _, m := range menus {
		parent := m.Parent
		if !known[parent] {
			parent = 0
		}
		byParent[parent] = append(byParent[parent], m)
	}
	for _, own := range byParent {
		slices.SortStableFunc(own, func(a, b access.Menu) int {
			return cmp.Or(cmp.Compare(sortOf(a), sortOf(b)), cmp.Compare(a.ID, b.ID))
		})
	}
	var out []placedMenu
	done := map[int64]bool{}
	var walk func(own []access.Menu, depth int)
	walk = func(own []access.Menu, depth int) {
		for _, m := range own {
			if done[m.ID] {
				continue
			}
			done[m.ID] = true
			out = append(out, placedMenu{m, depth})
			walk(byParent[m.ID], depth+1)
		}
	}
	walk(byParent[0], 0)
	walk(menus, 0) // what lies in a circle
	return out
}

// sortOf puts menus without a number last.
func sortOf(m access.Menu) int {
	if m.Sort == nil {
		return 1 << 30
	}
	return *m.Sort
}

// isRight reports whether a menu is a permission and no page.
func isRight(m access.Menu) bool { return m.Type == access.TypeButton || m.Type == "api" }
