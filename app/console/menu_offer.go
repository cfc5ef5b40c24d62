package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// offer handles POST /console/pages/:page/offer: the page gets a menu, so that a role can grant it.
func (v *nodeViews) offer(c *gin.Context) error {
	page, err := v.announced(c)
	if err != nil {
		return err
	}
	made, added, err := v.menus.Offer(c.Request.Context(), page)
	if added || err != nil {
		subject := cmp.Or(made.Code, page.Node+"."+page.Erupt)
		if err := v.audit(c, "menu.create", subject, err); err != nil {
			return err
		}
	}
	back := text(c, "back")
	if back != views.PagesPath && back != views.MenusPath {
		back = views.NodePath(page.Node, views.TabPages)
	}
	return web.Redirect(c, back, "said", "offered")
}

// announced is the page of the address, which an instance of its node must host: menus for what is nowhere are made by hand.
func (v *nodeViews) announced(c *gin.Context) (access.Page, error) {
	ctx, full := c.Request.Context(), c.Param("page")
	missing := fault.New(fault.NotFound, "no node has a page '%s'", full)
	node, erupt, ok := v.caller.ResolveErupt(full)
	if !ok {
		return access.Page{}, missing
	}
	nodes, err := v.nodes.All(ctx)
	if err != nil {
		return access.Page{}, err
	}
	for _, s := range judgeAll(nodes, v.view.View(), v.holds.Held) {
		if s.node.Name != node {
			continue
		}
		erupts := s.erupts()
		if i := slices.IndexFunc(erupts, func(e string) bool { return strings.EqualFold(e, erupt) }); i >= 0 {
			page := access.Page{Node: node, NodeLabel: cmp.Or(s.node.Display, node), Erupt: erupts[i]}
			page.Title = v.askTitle(c, node+"."+erupts[i], erupts[i])
			return page, nil
		}
	}
	return access.Page{}, missing
}

// askTitle is what the node calls a page: as it said before, or says now if the viewer may ask it.
func (v *nodeViews) askTitle(c *gin.Context, full, otherwise string) string {
	if title := v.title(full, ""); title != "" || !viewer(c).Holds(full) {
		return cmp.Or(title, otherwise)
	}
	answer, err := v.call(c, proxy.Call{Full: full, Path: "build/{e}"})
	if err != nil {
		return otherwise
	}
	if _, refused := buildmodel.Refused(answer.Status, answer.Body); refused {
		return otherwise
	}
	model, err := buildmodel.Parse(answer.Body)
	if err != nil || strings.TrimSpace(model.Title) == "" {
		return otherwise
	}
	return model.Title
}

// offers says of pages what the viewer has to do with their menus; nil for viewers who may neither make nor see any.
func offers(c *gin.Context, menus Menus) (func(full string) views.PageOffer, error) {
	who := viewer(c)
	see, add := who.Holds(access.CodeMenus), who.Holds(access.CodeMenus+"@ADD")
	if !see && !add {
		return nil, nil
	}
	all, err := menus.All(c.Request.Context())
	if err != nil {
		return nil, err
	}
	have := access.PageMenus(all)
	return func(full string) views.PageOffer {
		m, ok := have[strings.ToLower(full)]
		switch {
		case !ok:
			return views.PageOffer{Can: add}
		case see:
			return views.PageOffer{Menu: m.Code}
		}
		return views.PageOffer{}
	}, nil
}

// offerable marks the pages of nodes. The pages of a node are those of this request, so they may be written.
func offerable(c *gin.Context, menus Menus, nodes []views.PageNode) error {
	of, err := offers(c, menus)
	if of == nil {
		return err
	}
	for _, n := range nodes {
		for i := range n.Pages {
			n.Pages[i].Offer = of(n.Pages[i].Full)
		}
	}
	return nil
}

// offerLinks marks the pages on the tab of a node.
func (p *pages) offerLinks(c *gin.Context, node string, links []views.PageLink) error {
	of, err := offers(c, p.Menus)
	if of == nil {
		return err
	}
	for i := range links {
		links[i].Offer = of(node + "." + links[i].Erupt)
	}
	return nil
}
