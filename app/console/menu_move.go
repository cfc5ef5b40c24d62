package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// siblings are the menus beside the one at i in the tree, with itself, in their order.
func siblings(tree []placedMenu, i int) []access.Menu {
	var out []access.Menu
	for _, m := range tree {
		if m.depth == tree[i].depth && m.Parent == tree[i].Parent {
			out = append(out, m.Menu)
		}
	}
	return out
}

// edges reports whether a menu is the first or the last among those beside it.
func edges(tree []placedMenu, i int) (first, last bool) {
	beside := siblings(tree, i)
	return beside[0].ID == tree[i].ID, beside[len(beside)-1].ID == tree[i].ID
}

// moveMenu handles POST /console/menus/:menu/move: up or down by one among those beside it. Those that had no number or the
// same one get one, in steps of ten as the first start gives them.
func (p *pages) moveMenu(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "menu")
	step, ok := map[string]int{"up": -1, "down": 1}[c.PostForm("to")]
	if !ok {
		return fault.New(fault.Invalid, "a menu moves up or down")
	}
	all, err := p.Menus.All(ctx)
	if err != nil {
		return err
	}
	tree := menuTree(all)
	i := slices.IndexFunc(tree, func(m placedMenu) bool { return m.Code == code })
	if i < 0 {
		return fault.New(fault.NotFound, "no menu has the code %q", code)
	}
	beside := siblings(tree, i)
	at := slices.IndexFunc(beside, func(m access.Menu) bool { return m.Code == code })
	if to := at + step; to >= 0 && to < len(beside) {
		beside[at], beside[to] = beside[to], beside[at]
		for n, m := range beside {
			sort := 10 * (n + 1)
			if m.Sort != nil && *m.Sort == sort {
				continue
			}
			if _, err = p.Menus.Update(ctx, m.Code, access.MenuPatch{Sort: &sort, By: actor(c)}); err != nil {
				break
			}
		}
	}
	if err := p.record(c, "menu.move", code, err); err != nil {
		return err
	}
	return p.back(c, views.MenusPath, "moved")
}

// shownUnoffered is how many pages of nodes without a menu the list of menus names.
const shownUnoffered = 50

// unoffered are the pages that nodes host and that no menu opens, so that no role can grant them.
func (p *pages) unoffered(all []access.Menu) (shown []views.MenuPage, more int) {
	if p.Pages == nil {
		return nil, 0
	}
	have := access.PageMenus(all)
	found := map[string]views.MenuPage{}
	for _, in := range p.Registry.View().All() {
		if in.Origin != registry.OriginNode || in.Node == nil {
			continue
		}
		for _, e := range in.Node.Erupts {
			full := in.NodeName + "." + e
			if _, ok := have[strings.ToLower(full)]; !ok {
				found[strings.ToLower(full)] = views.MenuPage{Node: in.NodeName, Full: full}
			}
		}
	}
	for _, page := range found {
		shown = append(shown, page)
	}
	slices.SortFunc(shown, func(a, b views.MenuPage) int { return cmp.Compare(a.Full, b.Full) })
	if len(shown) > shownUnoffered {
		shown, more = shown[:shownUnoffered], len(shown)-shownUnoffered
	}
	return shown, more
}
