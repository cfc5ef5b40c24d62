package console

import (
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/dict"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func (p *pages) mountDicts(root *gin.RouterGroup) {
	const dicts, items = access.CodeDicts, access.CodeDictItems
	p.route(root, http.MethodGet, "/dicts", p.listDicts, dicts)
	p.route(root, http.MethodGet, "/dicts.csv", p.exportDicts, dicts+"@EXPORT")
	p.form(root, http.MethodPost, "/dicts", p.createDict, dicts+"@ADD")
	p.route(root, http.MethodGet, "/dicts/:dict", p.oneOrNew("dict", p.newDict, p.editDict, dicts), dicts, dicts+"@ADD")
	p.form(root, http.MethodPut, "/dicts/:dict", p.saveDict, dicts+"@EDIT")
	p.form(root, http.MethodPost, "/dicts/:dict/delete", p.deleteDict, dicts+"@DELETE")
	p.route(root, http.MethodGet, "/dicts/:dict/items.csv", p.exportItems, items+"@EXPORT")
	p.form(root, http.MethodPost, "/dicts/:dict/import", p.importItems, items+"@IMPORTABLE")
	p.form(root, http.MethodPost, "/dicts/:dict/items", p.createItem, items+"@ADD")
	p.route(root, http.MethodGet, "/dicts/:dict/items/:item", p.oneOrNew("item", p.newItem, p.editItem, items), items, items+"@ADD")
	p.form(root, http.MethodPut, "/dicts/:dict/items/:item", p.saveItem, items+"@EDIT")
	p.form(root, http.MethodPost, "/dicts/:dict/items/:item/delete", p.deleteItem, items+"@DELETE")
}

// dictItem is a dictionary as scripts get it, with its items where it stands alone and they may be seen.
type dictItem struct {
	Code    string      `json:"code"`
	Name    string      `json:"name"`
	Remark  string      `json:"remark"`
	Count   int         `json:"count"`
	Updated time.Time   `json:"updated,omitzero"`
	Items   []valueItem `json:"items,omitempty"`
}

// valueItem is an item of a dictionary as scripts get it.
type valueItem struct {
	ID     int64  `json:"id"`
	Code   string `json:"code"`
	Name   string `json:"name"`
	Value  string `json:"value"`
	Sort   *int   `json:"sort"`
	Remark string `json:"remark"`
}

func dictItemOf(d dict.Dict) dictItem {
	return dictItem{Code: d.Code, Name: d.Name, Remark: d.Remark, Count: d.Items, Updated: d.Updated}
}

func dictFilter(q views.DictQuery) dict.Filter {
	return dict.Filter{Query: q.Text, Order: dict.Order(q.Order), Page: max(q.Page, 1)}
}

// listDicts handles GET /console/dicts.
func (p *pages) listDicts(c *gin.Context) error {
	ctx, q := c.Request.Context(), views.ParseDictQuery(c.Request.URL.Query())
	f := dictFilter(q)
	f.PageSize = pageSize(c, &q.Size)
	found, total, err := p.Dicts.List(ctx, f)
	if err != nil {
		return err
	}
	m := views.DictList{Filter: q, Said: said(c)}
	m.Pager = views.Paged(f.Page, f.PageSize, total, func(page, n int) string { return q.At(page, n).Path(views.DictsPath) })
	if m.Pager.Page != f.Page { // past the end: show the last page
		f.Page = m.Pager.Page
		if found, _, err = p.Dicts.List(ctx, f); err != nil {
			return err
		}
	}
	twin := listTwin[dictItem]{Items: []dictItem{}, Total: &total}
	for _, d := range found {
		m.Rows = append(m.Rows, views.DictRow{Code: d.Code, Name: d.Name, Remark: d.Remark, By: d.By, Items: d.Items, Updated: d.Updated})
		twin.Items = append(twin.Items, dictItemOf(d))
	}
	return web.Twin(c, twin, views.DictListPage(m))
}

// exportDicts handles GET /console/dicts.csv.
func (p *pages) exportDicts(c *gin.Context) error {
	ctx := c.Request.Context()
	f := dictFilter(views.ParseDictQuery(c.Request.URL.Query()))
	f.PageSize = exportPage
	rows := func(yield func([]any, error) bool) {
		for f.Page = 1; ; f.Page++ {
			found, total, err := p.Dicts.List(ctx, f)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, d := range found {
				if !yield([]any{d.Code, d.Name, d.Items, d.Remark, d.By, d.Updated}, nil) {
					return
				}
			}
			if f.Page*exportPage >= total {
				return
			}
		}
	}
	return web.CSV(c, "dictionaries", titles(ctx, "groups.code", "groups.name", "dicts.items", "node.remark", "dicts.by", "dicts.updated"), iter.Seq2[[]any, error](rows))
}

// newDict handles GET /console/dicts/new.
func (p *pages) newDict(c *gin.Context) error { return p.dictForm(c, views.DictForm{New: true}, nil) }

func dictFields(c *gin.Context) views.DictForm {
	return views.DictForm{Name: text(c, "name"), Remark: text(c, "remark")}
}

// dictFacts is what the trail keeps of a form.
func dictFacts(name, remark string) map[string]any {
	return map[string]any{"name": name, "remark": remark}
}

// createDict handles POST /console/dicts.
func (p *pages) createDict(c *gin.Context) error {
	m := dictFields(c)
	m.New, m.Code = true, text(c, "code")
	_, err := p.Dicts.Create(c.Request.Context(), dict.Wish{Code: m.Code, Name: m.Name, Remark: m.Remark, By: viewer(c).Account})
	if err := p.recordChange(c, "dict.create", m.Code, nil, dictFacts(m.Name, m.Remark), err); err != nil {
		return p.dictForm(c, m, err)
	}
	return p.back(c, views.DictPath(m.Code), "created")
}

// editDict handles GET /console/dicts/:dict: the dictionary and what of its items fits a search.
func (p *pages) editDict(c *gin.Context) error {
	d, err := p.Dicts.ByCode(c.Request.Context(), web.Param(c, "dict"))
	if err != nil {
		return err
	}
	if web.PrefersJSON(c.Request) {
		out := dictItemOf(d)
		if viewer(c).Holds(access.CodeDictItems) {
			items, err := p.Dicts.Items(c.Request.Context(), d.Code, c.Query("q"))
			if err != nil {
				return err
			}
			for _, i := range items {
				out.Items = append(out.Items, valueItem{i.ID, i.Code, i.Name, i.Value, i.Sort, i.Remark})
			}
		}
		return web.Twin(c, out, nil)
	}
	m := views.DictForm{Code: d.Code, Name: d.Name, Remark: d.Remark, Imported: importedOf(c)}
	return p.dictForm(c, m, nil)
}

// saveDict handles PUT /console/dicts/:dict.
func (p *pages) saveDict(c *gin.Context) error {
	if err := complete(c, "name", "remark"); err != nil {
		return err
	}
	ctx, m := c.Request.Context(), dictFields(c)
	m.Code = web.Param(c, "dict")
	before, err := p.Dicts.ByCode(ctx, m.Code)
	if err != nil {
		return err
	}
	_, err = p.Dicts.Update(ctx, m.Code, dict.Wish{Name: m.Name, Remark: m.Remark, By: viewer(c).Account})
	if err := p.recordChange(c, "dict.update", m.Code, dictFacts(before.Name, before.Remark), dictFacts(m.Name, m.Remark), err); err != nil {
		return p.dictForm(c, m, err)
	}
	return p.back(c, views.DictPath(m.Code), "saved")
}

// deleteDict handles POST /console/dicts/:dict/delete.
func (p *pages) deleteDict(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "dict")
	before, err := p.Dicts.ByCode(ctx, code)
	if err != nil {
		return err
	}
	if before.Items > 0 && !viewer(c).Holds(access.CodeDictItems+"@DELETE") {
		return fault.New(fault.Forbidden, "this needs the permission %s", access.CodeDictItems+"@DELETE")
	}
	items, err := p.Dicts.Delete(ctx, code)
	old := dictFacts(before.Name, before.Remark)
	old["items"] = items
	if err := p.recordChange(c, "dict.delete", code, old, nil, err); err != nil {
		return err
	}
	return web.Redirect(c, views.DictsPath, "said", "deleted")
}

// shownItems is how many items the page of a dictionary shows; a search finds the others.
const shownItems = 500

func (p *pages) dictForm(c *gin.Context, m views.DictForm, refused error) error {
	fields, err := formFault(c, refused)
	if err != nil {
		return err
	}
	m.Fields, m.Said, m.Query = fields, said(c), strings.TrimSpace(c.Query("q"))
	if m.New {
		return web.Render(c, views.DictFormPage(m))
	}
	return p.renderDict(c, m)
}

func (p *pages) renderDict(c *gin.Context, m views.DictForm) error {
	ctx := c.Request.Context()
	d, err := p.Dicts.ByCode(ctx, m.Code)
	if err != nil {
		return err
	}
	m.Count = d.Items
	if m.SeesItems = viewer(c).Holds(access.CodeDictItems); m.SeesItems {
		items, err := p.Dicts.Items(ctx, m.Code, m.Query)
		if err != nil {
			return err
		}
		m.Hidden = max(len(items)-shownItems, 0)
		for _, i := range items[:len(items)-m.Hidden] {
			m.Items = append(m.Items, views.DictItemRow{ID: i.ID, Code: i.Code, Name: i.Name, Value: i.Value, Remark: i.Remark, Sort: sortText(i.Sort)})
		}
	}
	return web.Render(c, views.DictFormPage(m))
}
