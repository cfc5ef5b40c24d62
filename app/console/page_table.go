package console

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// table handles GET /console/pages/:page: the records of a page, as a table or as a tree.
func (v *nodeViews) table(c *gin.Context) error {
	o, err := v.open(c)
	if err != nil {
		return err
	}
	m, err := v.tableModel(c, o, c.Request.URL.Query())
	if err != nil {
		return err
	}
	return v.renderTable(c, o, m)
}

func (v *nodeViews) renderTable(c *gin.Context, o *opened, m views.PageTableModel) error {
	c.Status(o.status(c))
	return web.Twin(c, pageDocumentOf(c, m), views.PageTable(m), views.PageTableFragment)
}

// tableModel fills the page from the address alone, so that a link shows a colleague the same (U80).
func (v *nodeViews) tableModel(c *gin.Context, o *opened, q url.Values) (views.PageTableModel, error) {
	m := views.PageTableModel{PageHead: o.PageHead, Problem: o.problem, Self: selfPath(o.Full, q), Reset: views.PagePath(o.Full) + "?s=1"}
	if o.problem != nil {
		m.NoModel = true
		return m, nil
	}
	power := v.power(c, o)
	if power.Add {
		m.NewPath = views.PagePath(o.Full, "new") + "?" + url.Values{"back": {m.Self}}.Encode()
	}
	if power.Delete {
		m.DeletePath = views.PagePath(o.Full, "delete")
	}
	m.Tree = o.model.IsTree() && (o.tree || !o.named)
	if view := q.Get("view"); o.model.IsTree() {
		m.Tree = m.Tree && view != "table" || view == "tree"
		m.OtherView = views.PagePath(o.Full) + "?view=" + map[bool]string{true: "table", false: "tree"}[m.Tree]
		m.Keep = append(m.Keep, views.PageParam{Name: "view", Value: map[bool]string{true: "tree", false: "table"}[m.Tree]})
		m.KeepSearch = m.Keep
	}
	var err error
	switch {
	case !power.Query:
		m.Refused = views.T(c.Request.Context(), "page.no_query")
	case m.Tree:
		err = v.fillTree(c, o, &m, q, power)
	default:
		err = v.fillTable(c, o, &m, q, power)
	}
	m.Source = o.Source
	return m, err
}

// selfPath is the address of a table without what is only said once.
func selfPath(full string, q url.Values) string {
	keep := url.Values{}
	for name, values := range q {
		if name != "said" && name != "pick" && values[0] != "" {
			keep[name] = values
		}
	}
	if len(keep) == 0 {
		return views.PagePath(full)
	}
	return views.PagePath(full) + "?" + keep.Encode()
}

func (v *nodeViews) fillTable(c *gin.Context, o *opened, m *views.PageTableModel, q url.Values, power buildmodel.Power) error {
	s := v.search(c, o, q)
	m.Search, m.More, m.Open, m.Filtered = s.fields, s.more, s.open, s.filtered
	if o.model.Link.Field != "" {
		if err := v.leftTree(c, o, m, &s, q.Get("link")); err != nil {
			return err
		}
	}
	m.KeepSearch = append(m.KeepSearch, views.PageParam{Name: "s", Value: "1"})
	m.KeepSearch = keepIf(m.KeepSearch, q, "sort", "size")
	m.Keep = append(m.Keep, s.params...)
	m.Keep = keepIf(m.Keep, q, "sort", "s", "link")
	query := s.query
	query.Sort, query.Desc = pageSort(q.Get("sort"))
	query.Size = sizeOf(o.model, q.Get("size"))
	query.Page = max(atoi(q.Get("page")), 1)
	m.Columns = columns(o, q, query)
	if m.NeedsNode != "" || s.wrong {
		return nil
	}
	page, refused, err := v.query(c, o, query, s)
	if err == nil && refused == nil && len(page.Rows) == 0 && page.Pages > 0 && query.Page > page.Pages {
		query.Page = page.Pages // past the end: the last page (U14)
		page, refused, err = v.query(c, o, query, s)
	}
	switch {
	case err != nil:
		o.problem, err = v.problem(c, o, err)
		m.Problem = o.problem
		return err
	case refused != nil:
		m.Refused = orElse(refused.Message, views.T(c.Request.Context(), "page.no_reason"))
		return nil
	}
	v.fillPage(c, o, m, page, query, power)
	return nil
}

// fillPage turns the node's answer into rows and pager.
func (v *nodeViews) fillPage(c *gin.Context, o *opened, m *views.PageTableModel, page buildmodel.Page, query buildmodel.Query, power buildmodel.Power) {
	m.Alert, m.AlertKind = page.Alert, alertKind(page.AlertType)
	m.Total, m.Size, m.Page = page.Total, query.Size, query.Page
	if page.Size > 0 {
		m.Size = page.Size // FRONT and NONE paging: the node decides
	}
	m.Pages = max(page.Pages, (page.Total+m.Size-1)/m.Size)
	m.First = min((m.Page-1)*m.Size+1, m.Total)
	m.Last = min(m.First+len(page.Rows)-1, m.Total)
	if o.model.Layout.Paging == buildmodel.PagingBackend {
		m.Sizes = sizes(o.model)
	}
	if m.Page > 1 {
		m.Prev = pagePath(m.Self, m.Page-1)
	}
	if m.Page < m.Pages {
		m.Next = pagePath(m.Self, m.Page+1)
	}
	cols := o.model.Columns()
	main := mainColumn(o.model, cols)
	for _, r := range page.Rows {
		m.Rows = append(m.Rows, tableRow(c, o, r, cols, main, m.Self, r.Power(power)))
	}
}

func tableRow(c *gin.Context, o *opened, r buildmodel.Row, cols []buildmodel.Column, main int, self string, power buildmodel.Power) views.PageRow {
	row := views.PageRow{ID: r.Text(o.model.Key), CanDelete: power.Delete, Editable: power.Edit}
	row.Label = row.ID
	if (power.View || power.Edit) && row.ID != "" {
		row.Open = views.RecordPath(o.Full, row.ID, self)
	}
	for i, col := range cols {
		cell := cellView(col.Cell(r))
		cell.Label, cell.Main = col.View.Title, i == main
		cell.End = cell.End && i != main
		if cell.Main && cell.Text != "" {
			row.Label = cell.Text
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// query asks for one page. A 1.x node does not tell how it wants the days of a range; where its rows have not shown it yet, a
// refusal is answered with the other form.
func (v *nodeViews) query(c *gin.Context, o *opened, q buildmodel.Query, s search) (buildmodel.Page, *buildmodel.Result, error) {
	page, refused, err := v.ask(c, o, q)
	if err == nil && refused != nil && refused.Crashed && s.guessed {
		if again := s.otherDays(); len(again) > 0 {
			q.Conditions = again
			if p, r, e := v.ask(c, o, q); e == nil && r == nil {
				page, refused = p, nil
			}
		}
	}
	if err == nil && refused == nil {
		days := v.learned(o.Full)
		o.model.LearnDays(page.Rows, days)
		v.learn(o.Full, days)
	}
	return page, refused, err
}

func (v *nodeViews) ask(c *gin.Context, o *opened, q buildmodel.Query) (buildmodel.Page, *buildmodel.Result, error) {
	answer, err := v.call(c, proxy.Call{Full: o.Full, Method: http.MethodPost, Path: "data/table/{e}", Body: bytes.NewReader(o.model.Write(q))})
	if err != nil {
		return buildmodel.Page{}, nil, err
	}
	rights := o.Source.Rights
	o.Source = v.source(o.Node, answer)
	o.Source.Rights = rights
	if r, refused := buildmodel.Refused(answer.Status, answer.Body); refused {
		return buildmodel.Page{}, &r, nil
	}
	page, err := buildmodel.ParsePage(answer.Body)
	if err != nil {
		return page, &buildmodel.Result{Message: views.T(c.Request.Context(), "page.unreadable")}, nil
	}
	return page, nil, nil
}
