package console

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/dict"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func sortText(sort *int) string {
	if sort == nil {
		return ""
	}
	return strconv.Itoa(*sort)
}

// optionalSort reads an order; an empty one is none.
func optionalSort(s string) (*int, error) {
	if s == "" {
		return nil, nil
	}
	n, err := sortNumber(s)
	return &n, err
}

// itemID is the item that the address names.
func itemID(c *gin.Context) (int64, error) {
	id, err := strconv.ParseInt(web.Param(c, "item"), 10, 64)
	if err != nil {
		return 0, fault.New(fault.NotFound, "nothing is at this address").Because(err)
	}
	return id, nil
}

// newItem handles GET /console/dicts/:dict/items/new.
func (p *pages) newItem(c *gin.Context) error {
	return p.itemForm(c, views.DictItemForm{New: true}, nil)
}

func itemFields(c *gin.Context) (views.DictItemForm, dict.ItemWish, error) {
	m := views.DictItemForm{Code: text(c, "code"), Name: text(c, "name"), Value: text(c, "value"), Remark: text(c, "remark"), Sort: text(c, "sort")}
	sort, err := optionalSort(m.Sort)
	return m, dict.ItemWish{Code: m.Code, Name: m.Name, Value: m.Value, Remark: m.Remark, Sort: sort, By: viewer(c).Account}, err
}

// itemFacts is what the trail keeps of a form.
func itemFacts(m views.DictItemForm) map[string]any {
	return map[string]any{"code": m.Code, "name": m.Name, "value": m.Value, "sort": m.Sort, "remark": m.Remark}
}

func formOfItem(i dict.Item) views.DictItemForm {
	return views.DictItemForm{ID: i.ID, Code: i.Code, Name: i.Name, Value: i.Value, Remark: i.Remark, Sort: sortText(i.Sort)}
}

// createItem handles POST /console/dicts/:dict/items.
func (p *pages) createItem(c *gin.Context) error {
	m, wish, err := itemFields(c)
	m.New = true
	code := web.Param(c, "dict")
	if err == nil {
		_, err = p.Dicts.AddItem(c.Request.Context(), code, wish)
	}
	if err := p.recordChange(c, "item.create", code, nil, itemFacts(m), err); err != nil {
		return p.itemForm(c, m, err)
	}
	return p.back(c, views.DictPath(code), "created")
}

// editItem handles GET /console/dicts/:dict/items/:item.
func (p *pages) editItem(c *gin.Context) error {
	id, err := itemID(c)
	if err != nil {
		return err
	}
	i, err := p.Dicts.Item(c.Request.Context(), web.Param(c, "dict"), id)
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		return web.Twin(c, valueItem{i.ID, i.Code, i.Name, i.Value, i.Sort, i.Remark}, nil)
	}
	return p.itemForm(c, formOfItem(i), nil)
}

// saveItem handles PUT /console/dicts/:dict/items/:item.
func (p *pages) saveItem(c *gin.Context) error {
	if err := complete(c, "code", "name", "value", "sort", "remark"); err != nil {
		return err
	}
	id, err := itemID(c)
	if err != nil {
		return err
	}
	ctx, code := c.Request.Context(), web.Param(c, "dict")
	before, err := p.Dicts.Item(ctx, code, id)
	if err != nil {
		return err
	}
	m, wish, err := itemFields(c)
	m.ID = id
	if err == nil {
		_, err = p.Dicts.UpdateItem(ctx, code, id, wish)
	}
	if err := p.recordChange(c, "item.update", code, itemFacts(formOfItem(before)), itemFacts(m), err); err != nil {
		return p.itemForm(c, m, err)
	}
	return p.back(c, views.DictPath(code), "saved")
}

// deleteItem handles POST /console/dicts/:dict/items/:item/delete.
func (p *pages) deleteItem(c *gin.Context) error {
	id, err := itemID(c)
	if err != nil {
		return err
	}
	ctx, code := c.Request.Context(), web.Param(c, "dict")
	before, err := p.Dicts.Item(ctx, code, id)
	if err != nil {
		return err
	}
	err = p.Dicts.DeleteItem(ctx, code, id, viewer(c).Account)
	if err := p.recordChange(c, "item.delete", code, itemFacts(formOfItem(before)), nil, err); err != nil {
		return err
	}
	return p.back(c, views.DictPath(code), "deleted")
}

func (p *pages) itemForm(c *gin.Context, m views.DictItemForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	d, err := p.Dicts.ByCode(c.Request.Context(), web.Param(c, "dict"))
	if err != nil {
		return err
	}
	m.Fields, m.Said, m.Dict, m.DictName = fields, said(c), d.Code, d.Name
	return web.Render(c, views.DictItemFormPage(m))
}
