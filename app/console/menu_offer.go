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
	page, err := v.announced(c, c.Param("page"))
	if err != nil {
		return err
	}
	if kind := c.PostForm("as-" + c.Param("page")); slices.Contains(views.OfferTypes, kind) {
		page.Type = kind
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

// offerMany handles POST /console/pages/offer: several pages get menus, of the types that the form says, and roles that it
// names get these menus with the functions below them.
func (p *pages) offerMany(c *gin.Context) error {
	full, roles := c.PostFormArray("page"), c.PostFormArray("role")
	if len(full) == 0 {
		return fault.New(fault.Invalid, "choose at least one page")
	}
	if len(full) > maxOffered {
		return fault.New(fault.Invalid, "choose %d pages at most", maxOffered)
	}
	if len(roles) > 0 {
		if err := web.Permit(viewer(c), access.CodeRoles+"@EDIT"); err != nil {
			return err
		}
	}
	var made []string // codes
	for _, name := range full {
		page, err := p.views.announced(c, name)
		if err != nil {
			return err
		}
		if page.Type = c.PostForm("as-" + name); !slices.Contains(views.OfferTypes, page.Type) {
			page.Type = access.TypeTable
		}
		menu, added, err := p.Menus.Offer(c.Request.Context(), page)
		if added || err != nil {
			if err := p.record(c, "menu.create", cmp.Or(menu.Code, page.Node+"."+page.Erupt), err); err != nil {
				return err
			}
		}
		made = append(made, menu.Code)
	}
	if err := p.grantMenus(c, made, roles); err != nil {
		return err
	}
	return web.Redirect(c, views.MenusPath, "said", "offered")
}

// maxOffered bounds how many pages one form offers.
const maxOffered = 200

// grantMenus gives roles menus and the rights below them.
func (p *pages) grantMenus(c *gin.Context, codes, roles []string) error {
	if len(roles) == 0 {
		return nil
	}
	ctx := c.Request.Context()
	all, err := p.Menus.All(ctx)
	if err != nil {
		return err
	}
	given := slices.Clone(codes)
	for _, m := range all {
		if isRight(m) && slices.Contains(codes, m.ParentCode) {
			given = append(given, m.Code)
		}
	}
	for _, code := range roles {
		before, err := p.Roles.ByCode(ctx, code)
		if err != nil {
			return err
		}
		menus := slices.Concat(before.MenuCodes, given)
		slices.Sort(menus)
		menus = slices.Compact(menus)
		_, err = p.Roles.Update(ctx, code, access.RolePatch{Menus: &menus, By: actor(c)})
		facts := map[string]any{"menus": menus}
		if err := p.recordChange(c, "role.update", code, map[string]any{"menus": before.MenuCodes}, facts, err); err != nil {
			return err
		}
	}
	return nil
}

// announced is a page by its full name, which an instance of its node must host: menus for what is nowhere are made by hand.
func (v *nodeViews) announced(c *gin.Context, full string) (access.Page, error) {
	ctx := c.Request.Context()
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
