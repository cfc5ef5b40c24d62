package console

import (
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/web"
	"eruptcloud/views"
)

// exportMenus handles GET /console/menus.csv: the menus that the search finds, each before those below it (U81, S94).
func (p *pages) exportMenus(c *gin.Context) error {
	ctx, query := c.Request.Context(), strings.TrimSpace(c.Query("q"))
	all, err := p.Menus.All(ctx)
	if err != nil {
		return err
	}
	roles, err := p.Roles.List(ctx)
	if err != nil {
		return err
	}
	header := titles(ctx, "groups.code", "menus.menu", "menus.type", "menus.value", "menus.parent", "nodes.state", "roles.sort", "menus.icon", "menus.roles")
	return web.CSV(c, "menus", header, func(yield func([]any, error) bool) {
		for _, one := range menuTree(all) {
			if !containsFold(query, one.Code, one.Name, one.Value, views.MenuName(ctx, one.Code, one.Name)) {
				continue
			}
			i := menuItemOf(one.Menu, holdersOf(roles, one.ID))
			var sort any
			if i.Sort != nil {
				sort = *i.Sort
			}
			cells := []any{i.Code, i.Name, i.Type, i.Value, i.Parent, views.T(ctx, "menus.status."+i.Status), sort, i.Icon, strings.Join(i.Roles, " ")}
			if !yield(cells, nil) {
				return
			}
		}
	})
}
