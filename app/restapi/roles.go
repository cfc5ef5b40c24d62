package restapi

import (
	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/web"
)

type role struct {
	Code    string   `json:"code"`
	Name    string   `json:"name"`
	Sort    int      `json:"sort"`
	Enabled bool     `json:"enabled"`
	Menus   []string `json:"menus"` // codes
}

type newRole struct {
	Code    string   `json:"code"`
	Name    string   `json:"name"`
	Sort    int      `json:"sort"`
	Enabled *bool    `json:"enabled"` // true if left out
	Menus   []string `json:"menus"`
}

type rolePatch struct {
	Name    *string   `json:"name,omitempty"`
	Sort    *int      `json:"sort,omitempty"`
	Enabled *bool     `json:"enabled,omitempty"`
	Menus   *[]string `json:"menus,omitempty"`
}

func (a *api) listRoles(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	all, err := a.o.Roles.List(c.Request.Context())
	if err != nil {
		return err
	}
	items := []role{}
	for _, r := range cut(all, page, size) {
		items = append(items, roleOf(r))
	}
	return answerList(c, items, len(all))
}

func (a *api) getRole(c *gin.Context) error {
	r, err := a.o.Roles.ByCode(c.Request.Context(), web.Param(c, "code"))
	if err != nil {
		return err
	}
	return answer(c, 200, roleOf(r))
}

func (a *api) createRole(c *gin.Context) error {
	var in newRole
	if err := body(c, &in); err != nil {
		return err
	}
	r, err := a.o.Roles.Create(c.Request.Context(), access.NewRole{
		Code: in.Code, Name: in.Name, Sort: in.Sort, Enabled: in.Enabled == nil || *in.Enabled, Menus: in.Menus, By: actor(c),
	})
	if err := a.audit(c, "role.create", in.Code, in, err); err != nil {
		return err
	}
	return created(c, "roles", r.Code, roleOf(r))
}

func (a *api) patchRole(c *gin.Context) error {
	var in rolePatch
	if err := body(c, &in); err != nil {
		return err
	}
	if in == (rolePatch{}) {
		return nothingToChange()
	}
	code := web.Param(c, "code")
	r, err := a.o.Roles.Update(c.Request.Context(), code, access.RolePatch{
		Name: in.Name, Sort: in.Sort, Enabled: in.Enabled, Menus: in.Menus, By: actor(c),
	})
	if err := a.audit(c, "role.update", code, in, err); err != nil {
		return err
	}
	return answer(c, 200, roleOf(r))
}

func (a *api) deleteRole(c *gin.Context) error {
	code := web.Param(c, "code")
	err := a.o.Roles.Delete(c.Request.Context(), code)
	if err := a.audit(c, "role.delete", code, nil, err); err != nil {
		return err
	}
	return gone(c)
}

func roleOf(r access.Role) role {
	return role{Code: r.Code, Name: r.Name, Sort: r.Sort, Enabled: r.Enabled, Menus: orEmpty(r.MenuCodes)}
}
