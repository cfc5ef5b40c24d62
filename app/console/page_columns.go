package console

import (
	"net/url"
	"slices"
	"strconv"

	"eruptcloud/app/buildmodel"
	"eruptcloud/views"
)

// mainColumn is the one that names a row: what the class calls its label, else the first that holds text, else the first.
func mainColumn(m *buildmodel.Model, cols []buildmodel.Column) int {
	if at := slices.IndexFunc(cols, func(c buildmodel.Column) bool { return c.Key == m.Tree.Label }); at >= 0 {
		return at
	}
	at := slices.IndexFunc(cols, func(c buildmodel.Column) bool {
		t := c.Field.Edit.Type
		return (t == "INPUT" || t == "AUTO_COMPLETE" || t == "TEXTAREA") && (c.View.Type == "TEXT" || c.View.Type == "SAFE_TEXT")
	})
	return max(at, 0)
}

// columns are the headings with their sort links.
func columns(o *opened, q url.Values, query buildmodel.Query) []views.PageColumn {
	var out []views.PageColumn
	main := mainColumn(o.model, o.model.Columns())
	for i, col := range o.model.Columns() {
		h := views.PageColumn{Title: col.View.Title, Desc: col.View.Desc, End: isNumeric(col) && i != main}
		if col.Sort != "" {
			next := col.Sort
			if query.Sort == col.Sort {
				if h.Sorted = "ascending"; query.Desc {
					h.Sorted = "descending"
				} else {
					next = "-" + col.Sort
				}
			}
			to := url.Values{}
			for name, values := range q {
				if name != "page" && name != "said" {
					to[name] = values
				}
			}
			to.Set("sort", next)
			h.SortPath = selfPath(o.Full, to)
		}
		out = append(out, h)
	}
	return out
}

func isNumeric(col buildmodel.Column) bool {
	return col.View.Template == "" && (col.View.Type == "NUMBER" || col.View.Type == "PROGRESS")
}

// cellView turns a value into what the template draws.
func cellView(cell buildmodel.Cell) views.PageCell {
	out := views.PageCell{
		Kind: string(cell.Kind), Text: buildmodel.Printable(cell.Text), Color: cell.Color, URL: cell.URL, Yes: cell.Yes,
		End: cell.Kind == buildmodel.KindNumber,
	}
	for _, item := range cell.Items {
		out.Items = append(out.Items, buildmodel.Printable(item))
	}
	if cell.Raw != cell.Text {
		out.Exact = buildmodel.Printable(cell.Raw)
	}
	return out
}

func alertKind(uiType string) string {
	switch uiType {
	case "error":
		return "down"
	case "warning":
		return "slow"
	case "success":
		return "up"
	}
	return "probe"
}

// pageSort reads "name" or "-name".
func pageSort(s string) (name string, desc bool) {
	if len(s) > 0 && s[0] == '-' {
		return s[1:], true
	}
	return s, false
}

// sizes are the page sizes that the class offers.
func sizes(m *buildmodel.Model) []int {
	out := slices.Clone(m.Layout.PageSizes)
	if m.Layout.PageSize > 0 && !slices.Contains(out, m.Layout.PageSize) {
		out = append(out, m.Layout.PageSize)
	}
	slices.Sort(out)
	return out
}

func sizeOf(m *buildmodel.Model, asked string) int {
	if n := atoi(asked); slices.Contains(sizes(m), n) {
		return n
	}
	return min(max(m.Layout.PageSize, 1), 500)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// pagePath is self at another page.
func pagePath(self string, page int) string {
	u, err := url.Parse(self)
	if err != nil {
		return self
	}
	q := u.Query()
	q.Set("page", strconv.Itoa(page))
	u.RawQuery = q.Encode()
	return u.String()
}

func keepIf(keep []views.PageParam, q url.Values, names ...string) []views.PageParam {
	for _, n := range names {
		if q.Get(n) != "" && !slices.ContainsFunc(keep, func(p views.PageParam) bool { return p.Name == n }) {
			keep = append(keep, views.PageParam{Name: n, Value: q.Get(n)})
		}
	}
	return keep
}
