package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// firstFields is how many search fields are shown before the rest is folded away.
const firstFields = 5

// search is what an address asks for: the fields to show again, and the conditions.
type search struct {
	fields, more []views.PageField
	open         bool
	filtered     bool
	wrong        bool // an entry cannot be asked for
	guessed      bool // days were written in a form that the node may not take
	query        buildmodel.Query
	params       []views.PageParam
	other        []buildmodel.Condition // the same with the other form of days
}

func (s search) otherDays() []buildmodel.Condition { return s.other }

// search reads the q.* parameters. A first visit, without s=1, starts with the values that the class gives.
func (v *nodeViews) search(c *gin.Context, o *opened, q url.Values) search {
	s := search{}
	days := v.learned(o.Full)
	first := q.Get("s") == ""
	for i, f := range o.searchable() {
		find, asked := findOf(f, q)
		if !asked && first {
			find = o.model.StartFind(f)
		}
		field := v.searchField(c, o, f, find, q)
		cond, ok, problem := o.model.Condition(f, find, days[f.Name])
		if problem != "" {
			field.Error, s.wrong = views.T(c.Request.Context(), "page.wrong."+problem), true
		}
		if ok {
			s.filtered = true
			s.query.Conditions = append(s.query.Conditions, cond)
			other := cond
			if o.model.Classic && f.Edit.Type == "DATE" && days[f.Name] == buildmodel.DaysUnknown && o.model.Ranged(f) {
				if alt, _, _ := o.model.Condition(f, find, buildmodel.DaysAsTimes); string(alt.Value) != string(cond.Value) {
					other, s.guessed = alt, true
				}
			}
			s.other = append(s.other, other)
		}
		s.params = append(s.params, paramsOf(f, find)...)
		if i < firstFields {
			s.fields = append(s.fields, field)
		} else {
			s.more = append(s.more, field)
			s.open = s.open || ok || problem != "" || field.Ref.Open
		}
	}
	if !s.guessed {
		s.other = nil
	}
	return s
}

// searchable are the fields of the search form. What the tree beside the table chooses needs no second field.
func (o *opened) searchable() []*buildmodel.Field {
	return slices.DeleteFunc(o.model.Searchable(), func(f *buildmodel.Field) bool { return f.Name == o.model.Link.Field })
}

func queryName(f *buildmodel.Field) string { return "q." + f.Name }

func findOf(f *buildmodel.Field, q url.Values) (find buildmodel.Find, asked bool) {
	name := queryName(f)
	_, one := q[name]
	_, from := q[name+".from"]
	_, to := q[name+".to"]
	find = buildmodel.Find{From: strings.TrimSpace(q.Get(name + ".from")), To: strings.TrimSpace(q.Get(name + ".to")), Text: q.Get(name)}
	if isRef(f) {
		find.Ref.ID, find.Ref.Label = views.ParseRefValue(find.Text)
		find.Text = ""
	}
	return find, one || from || to
}

// paramsOf are the parameters that stand for an entry, so that sorting and paging keep it.
func paramsOf(f *buildmodel.Field, find buildmodel.Find) []views.PageParam {
	var out []views.PageParam
	add := func(name, value string) {
		if value != "" {
			out = append(out, views.PageParam{Name: name, Value: value})
		}
	}
	name := queryName(f)
	add(name, find.Text)
	add(name, views.RefValue(find.Ref.ID, find.Ref.Label))
	add(name+".from", find.From)
	add(name+".to", find.To)
	return out
}

func isRef(f *buildmodel.Field) bool {
	return f.Edit.Type == "REFERENCE_TREE" || f.Edit.Type == "REFERENCE_TABLE"
}

func (v *nodeViews) searchField(c *gin.Context, o *opened, f *buildmodel.Field, find buildmodel.Find, q url.Values) views.PageField {
	t := func(key string) string { return views.T(c.Request.Context(), key) }
	field := views.PageField{
		ID: "q-" + f.Name, Name: queryName(f), Label: orElse(f.Edit.Title, f.Name), Required: f.Edit.Search.Required,
		Control: "text", Value: find.Text, To: find.To,
	}
	switch {
	case o.model.Ranged(f):
		field.Control, field.Value = "range", find.From
		if f.Edit.Type == "DATE" {
			field.Date = f.Edit.Date.Kind
			field.Value, field.To = inputDate(field.Date, find.From), inputDate(field.Date, find.To)
		}
	case f.Edit.Type == "DATE":
		field.Control, field.Date = "date", f.Edit.Date.Kind
		if field.Date != "DATE" && field.Date != "DATE_TIME" {
			field.Control = "text"
		}
	case f.Edit.Type == "CHOICE":
		field.Control = "choice"
		for _, ch := range f.Choices {
			field.Options = append(field.Options, views.PageOption{Value: ch.Value, Label: ch.Label, On: ch.Value == find.Text})
		}
	case f.Edit.Type == "BOOLEAN":
		field.Control = "choice"
		field.Options = []views.PageOption{
			{Value: "true", Label: f.Edit.Bool.True, On: find.Text == "true"}, {Value: "false", Label: f.Edit.Bool.False, On: find.Text == "false"},
		}
	case isRef(f):
		field.Control = "ref"
		field.Ref = views.PageRef{ID: find.Ref.ID, Label: find.Ref.Label, Depends: dependName("q.", f)}
		if q.Get("pick") == field.Name {
			v.fillRef(c, o, f, &field, q.Get("find."+field.Name), dependID(q, "q.", f))
		}
	case buildmodel.IsNumber(f):
		field.PlaceHolder = t("page.equals")
	case f.Edit.Search.Vague || f.Edit.Search.Operator == "LIKE" || !o.model.Classic && !f.Edit.Search.Locked:
		field.PlaceHolder = t("page.contains")
	default:
		field.PlaceHolder = t("page.equals")
	}
	return field
}

// inputDate writes a stored day or moment as a browser's input takes it.
func inputDate(kind, s string) string {
	m, ok := buildmodel.ParseMoment(s)
	if !ok {
		return s
	}
	if kind == "DATE_TIME" {
		return m.Time.Format("2006-01-02T15:04:05")
	}
	return m.Time.Format("2006-01-02")
}

// leftTree makes the tree beside a table a first field of its search: one line is chosen, and with it what is below.
func (v *nodeViews) leftTree(c *gin.Context, o *opened, m *views.PageTableModel, s *search, chosen string) error {
	title := o.model.Link.Field
	if f := o.model.Field(title); f != nil && f.Edit.Title != "" {
		title = f.Edit.Title
	}
	field := views.PageField{ID: "q-link", Name: "link", Label: title, Control: "choice", Required: o.model.Link.Required}
	answer, err := v.call(c, proxy.Call{Full: o.Full, Path: "data/depend-tree/{e}"})
	if err != nil {
		o.problem, err = v.problem(c, o, err)
		m.Problem = o.problem
		return err
	}
	nodes, err := buildmodel.ParseTree(answer.Body)
	if err != nil {
		field.Error = views.T(c.Request.Context(), "page.unreadable")
	}
	for i, n := range nodes {
		field.Options = append(field.Options, views.PageOption{Value: n.ID, Label: n.Label, Depth: n.Level, On: n.ID == chosen})
		if n.ID == chosen {
			s.query.Link = below(nodes, i)
		}
	}
	m.Search = append([]views.PageField{field}, m.Search...)
	switch {
	case len(s.query.Link) > 0:
		m.Filtered = true
		if m.NewPath != "" {
			m.NewPath += "&" + url.Values{"link": {chosen}}.Encode()
		}
	case o.model.Link.Required:
		m.NeedsNode, m.NewPath = title, "" // a node refuses new rows that belong nowhere
	}
	return nil
}

// below are the ids of a line and of all lines under it.
func below(nodes []buildmodel.TreeNode, at int) []string {
	ids := []string{nodes[at].ID}
	for _, n := range nodes[at+1:] {
		if n.Level <= nodes[at].Level {
			break
		}
		ids = append(ids, n.ID)
	}
	return ids
}
