package restapi

import (
	"context"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
)

type role struct {
	Code    string   `json:"code"`
	Name    string   `json:"name"`
	Sort    int      `json:"sort"`
	Enabled bool     `json:"enabled"`
	Menus   []string `json:"menus"` // codes
	// ReadOnly and Groups (codes) limit what the menus give (D21).
	ReadOnly bool     `json:"readOnly"`
	Groups   []string `json:"groups"`
}

type newRole struct {
	Code    string   `json:"code"`
	Name    string   `json:"name"`
	Sort    int      `json:"sort"`
	Enabled *bool    `json:"enabled"` // true if left out
	Menus   []string `json:"menus"`

	ReadOnly bool     `json:"readOnly"`
	Groups   []string `json:"groups"`
}

type rolePatch struct {
	Name    *string   `json:"name,omitempty"`
	Sort    *int      `json:"sort,omitempty"`
	Enabled *bool     `json:"enabled,omitempty"`
	Menus   *[]string `json:"menus,omitempty"`

	ReadOnly *bool     `json:"readOnly,omitempty"`
	Groups   *[]string `json:"groups,omitempty"`
}

// groupCodes are the codes of all groups by their ids.
func (a *api) groupCodes(ctx context.Context) (map[int64]string, error) {
	all, err := a.o.Groups.List(ctx)
	if err != nil {
		return nil, err
	}
	codes := make(map[int64]string, len(all))
	for _, g := range all {
		codes[g.ID] = g.Code
	}
	return codes, nil
}

// groupIDs finds groups by code. fault.Invalid if there is none.
func (a *api) groupIDs(ctx context.Context, codes []string) ([]int64, error) {
	if len(codes) == 0 {
		return nil, nil
	}
	all, err := a.o.Groups.List(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, 0, len(codes))
	for _, code := range codes {
		i := slices.IndexFunc(all, func(g fleet.Group) bool { return g.Code == code })
		if i < 0 {
			return nil, fault.New(fault.Invalid, "no group has the code %q", code).Field("groups", "no group has the code %q", code)
		}
		ids = append(ids, all[i].ID)
	}
	return ids, nil
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
	codes, err := a.groupCodes(c.Request.Context())
	if err != nil {
		return err
	}
	items := []role{}
	for _, r := range cut(all, page, size) {
		items = append(items, roleOf(r, codes))
	}
	return answerList(c, items, len(all))
}

func (a *api) getRole(c *gin.Context) error {
	r, err := a.o.Roles.ByCode(c.Request.Context(), web.Param(c, "code"))
	if err != nil {
		return err
	}
	codes, err := a.groupCodes(c.Request.Context())
	if err != nil {
		return err
	}
	return answer(c, 200, roleOf(r, codes))
}

func (a *api) createRole(c *gin.Context) error {
	var in newRole
	if err := body(c, &in); err != nil {
		return err
	}
	ctx := c.Request.Context()
	groups, err := a.groupIDs(ctx, in.Groups)
	var r access.Role
	if err == nil {
		r, err = a.o.Roles.Create(ctx, access.NewRole{
			Code: in.Code, Name: in.Name, Sort: in.Sort, Enabled: in.Enabled == nil || *in.Enabled, Menus: in.Menus,
			ReadOnly: in.ReadOnly, Groups: groups, By: actor(c),
		})
	}
	if err := a.audit(c, "role.create", in.Code, in, err); err != nil {
		return err
	}
	codes, err := a.groupCodes(ctx)
	if err != nil {
		return err
	}
	return created(c, "roles", r.Code, roleOf(r, codes))
}

func (a *api) patchRole(c *gin.Context) error {
	var in rolePatch
	if err := body(c, &in); err != nil {
		return err
	}
	if in == (rolePatch{}) {
		return nothingToChange()
	}
	code, ctx := web.Param(c, "code"), c.Request.Context()
	patch := access.RolePatch{Name: in.Name, Sort: in.Sort, Enabled: in.Enabled, Menus: in.Menus, ReadOnly: in.ReadOnly, By: actor(c)}
	var r access.Role
	var err error
	if in.Groups != nil {
		var ids []int64
		ids, err = a.groupIDs(ctx, *in.Groups)
		patch.Groups = &ids
	}
	if err == nil {
		r, err = a.o.Roles.Update(ctx, code, patch)
	}
	if err := a.audit(c, "role.update", code, in, err); err != nil {
		return err
	}
	codes, err := a.groupCodes(ctx)
	if err != nil {
		return err
	}
	return answer(c, 200, roleOf(r, codes))
}

func (a *api) deleteRole(c *gin.Context) error {
	code := web.Param(c, "code")
	err := a.o.Roles.Delete(c.Request.Context(), code)
	if err := a.audit(c, "role.delete", code, nil, err); err != nil {
		return err
	}
	return gone(c)
}

// roleOf names groups by their codes; one that was deleted has none, and shows as its id, as the role is not free of it.
func roleOf(r access.Role, codes map[int64]string) role {
	groups := []string{}
	for _, id := range r.Groups {
		code, ok := codes[id]
		if !ok {
			code = "#" + strconv.FormatInt(id, 10)
		}
		groups = append(groups, code)
	}
	return role{
		Code: r.Code, Name: r.Name, Sort: r.Sort, Enabled: r.Enabled, Menus: orEmpty(r.MenuCodes), ReadOnly: r.ReadOnly, Groups: groups,
	}
}
