package restapi

import (
	"slices"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

type menu struct {
	Code   string  `json:"code"`
	Name   string  `json:"name"`
	Type   *string `json:"type"`  // null: a folder
	Value  *string `json:"value"` // null: a folder
	Parent *string `json:"parent"`
	Status string  `json:"status"`
	Sort   *int    `json:"sort"`
	Icon   *string `json:"icon"`
}

type newMenu struct {
	Code   string `json:"code"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Value  string `json:"value"`
	Parent string `json:"parent"`
	Status string `json:"status"` // open if left out
	Sort   *int   `json:"sort"`
	Icon   string `json:"icon"`
}

type menuPatch struct {
	Name   *string   `json:"name,omitempty"`
	Type   clearable `json:"type,omitzero"`
	Value  clearable `json:"value,omitzero"`
	Parent clearable `json:"parent,omitzero"`
	Status *string   `json:"status,omitempty"`
	Sort   *int      `json:"sort,omitempty"`
	Icon   clearable `json:"icon,omitzero"`
}

var menuStatuses = []string{"open", "hidden", "disabled"}

func statusOf(word string) (access.MenuStatus, error) {
	i := slices.Index(menuStatuses, word)
	if i < 0 {
		return 0, fault.New(fault.Invalid, "some fields need correction").Field("status", "is open, hidden or disabled")
	}
	return access.MenuStatus(i + 1), nil
}

func (a *api) listMenus(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	all, err := a.o.Menus.All(c.Request.Context())
	if err != nil {
		return err
	}
	items := []menu{}
	for _, m := range cut(all, page, size) {
		items = append(items, menuOf(m))
	}
	return answerList(c, items, len(all))
}

func (a *api) getMenu(c *gin.Context) error {
	m, err := a.o.Menus.ByCode(c.Request.Context(), web.Param(c, "code"))
	if err != nil {
		return err
	}
	return answer(c, 200, menuOf(m))
}

func (a *api) createMenu(c *gin.Context) error {
	var in newMenu
	if err := body(c, &in); err != nil {
		return err
	}
	status, err := access.MenuOpen, error(nil)
	if in.Status != "" {
		status, err = statusOf(in.Status)
	}
	var m access.Menu
	if err == nil {
		m, err = a.o.Menus.Create(c.Request.Context(), access.NewMenu{
			Code: in.Code, Name: in.Name, Type: in.Type, Value: in.Value, Parent: in.Parent, Icon: in.Icon, Status: status, Sort: in.Sort,
		})
	}
	subject := in.Code
	if err == nil {
		subject = m.Code // made up if none was given
	}
	if err := a.audit(c, "menu.create", subject, in, err); err != nil {
		return err
	}
	return created(c, "menus", m.Code, menuOf(m))
}

func (a *api) patchMenu(c *gin.Context) error {
	var in menuPatch
	if err := body(c, &in); err != nil {
		return err
	}
	if in == (menuPatch{}) {
		return nothingToChange()
	}
	p := access.MenuPatch{
		Name: in.Name, Type: in.Type.pointer(), Value: in.Value.pointer(), Parent: in.Parent.pointer(), Icon: in.Icon.pointer(),
		Sort: in.Sort, By: actor(c),
	}
	var err error
	if in.Status != nil {
		var status access.MenuStatus
		status, err = statusOf(*in.Status)
		p.Status = &status
	}
	code := web.Param(c, "code")
	var m access.Menu
	if err == nil {
		m, err = a.o.Menus.Update(c.Request.Context(), code, p)
	}
	if err := a.audit(c, "menu.update", code, in, err); err != nil {
		return err
	}
	return answer(c, 200, menuOf(m))
}

func (a *api) deleteMenu(c *gin.Context) error {
	code := web.Param(c, "code")
	err := a.o.Menus.Delete(c.Request.Context(), code)
	if err := a.audit(c, "menu.delete", code, nil, err); err != nil {
		return err
	}
	return gone(c)
}

func menuOf(m access.Menu) menu {
	status := "disabled"
	if i := int(m.Status) - 1; i >= 0 && i < len(menuStatuses) {
		status = menuStatuses[i]
	}
	return menu{
		Code: m.Code, Name: m.Name, Type: orNull(m.Type), Value: orNull(m.Value), Parent: orNull(m.ParentCode), Status: status,
		Sort: m.Sort, Icon: orNull(m.Icon),
	}
}
