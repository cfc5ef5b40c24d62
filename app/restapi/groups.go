package restapi

import (
	"slices"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
)

type group struct {
	Code   string  `json:"code"`
	Name   string  `json:"name"`
	Parent *string `json:"parent"` // code
	Remark string  `json:"remark"`
}

type newGroup struct {
	Code   string `json:"code"`
	Name   string `json:"name"`
	Parent string `json:"parent"`
	Remark string `json:"remark"`
}

type groupPatch struct {
	Name   *string   `json:"name,omitempty"`
	Parent clearable `json:"parent,omitzero"`
	Remark *string   `json:"remark,omitempty"`
}

func (a *api) listGroups(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	all, err := a.o.Groups.List(c.Request.Context())
	if err != nil {
		return err
	}
	codes := codesOf(all)
	if scoped(c, access.CodeGroups) {
		all = slices.DeleteFunc(slices.Clone(all), func(g fleet.Group) bool { return !a.holds(c, access.CodeGroups, g.ID) })
	}
	items := []group{}
	for _, g := range cut(all, page, size) {
		items = append(items, groupOf(g, codes))
	}
	return answerList(c, items, len(all))
}

func (a *api) getGroup(c *gin.Context) error {
	g, err := a.groupFor(c, access.CodeGroups)
	if err != nil {
		return err
	}
	out, err := a.group(c, g)
	if err != nil {
		return err
	}
	return answer(c, 200, out)
}

func (a *api) createGroup(c *gin.Context) error {
	var in newGroup
	if err := body(c, &in); err != nil {
		return err
	}
	if err := a.mayIn(c, access.CodeGroups+"@ADD", in.Parent); err != nil {
		return err
	}
	g, err := a.o.Groups.Create(c.Request.Context(), fleet.NewGroup{
		Code: in.Code, Name: in.Name, Parent: in.Parent, Remark: in.Remark, By: actor(c).Account,
	})
	if err := a.audit(c, "group.create", in.Code, in, err); err != nil {
		return err
	}
	out, err := a.group(c, g)
	if err != nil {
		return err
	}
	return created(c, "groups", g.Code, out)
}

func (a *api) patchGroup(c *gin.Context) error {
	var in groupPatch
	if err := body(c, &in); err != nil {
		return err
	}
	if in.Name == nil && !in.Parent.Set && in.Remark == nil {
		return nothingToChange()
	}
	was, err := a.groupFor(c, access.CodeGroups+"@EDIT")
	if err != nil {
		return err
	}
	if in.Parent.Set && in.Parent.Value != was.Parent {
		if err := a.mayMove(c, access.CodeGroups+"@EDIT", was.ID, in.Parent.Value, refuseGroup(was)); err != nil {
			return err
		}
	}
	code := was.Code
	g, err := a.o.Groups.Update(c.Request.Context(), code, fleet.GroupPatch{
		Name: in.Name, Parent: in.Parent.pointer(), Remark: in.Remark, By: actor(c).Account,
	})
	if err := a.audit(c, "group.update", code, in, err); err != nil {
		return err
	}
	out, err := a.group(c, g)
	if err != nil {
		return err
	}
	return answer(c, 200, out)
}

func (a *api) deleteGroup(c *gin.Context) error {
	g, err := a.groupFor(c, access.CodeGroups+"@DELETE")
	if err != nil {
		return err
	}
	code := g.Code
	err = a.o.Groups.Delete(c.Request.Context(), code, actor(c).Account)
	if err := a.audit(c, "group.delete", code, nil, err); err != nil {
		return err
	}
	return gone(c)
}

// group adds the parent's code, which a group knows by its id only.
func (a *api) group(c *gin.Context, g fleet.Group) (group, error) {
	if g.ParentID == 0 {
		return groupOf(g, nil), nil
	}
	all, err := a.o.Groups.List(c.Request.Context())
	return groupOf(g, codesOf(all)), err
}

func codesOf(all []fleet.Group) map[int64]string {
	codes := make(map[int64]string, len(all))
	for _, g := range all {
		codes[g.ID] = g.Code
	}
	return codes
}

func groupOf(g fleet.Group, codes map[int64]string) group {
	return group{Code: g.Code, Name: g.Name, Parent: orNull(codes[g.ParentID]), Remark: g.Remark}
}
