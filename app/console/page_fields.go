package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/views"
)

func inputName(f *buildmodel.Field) string { return "f." + f.Name }

// recordFields are the fields of the form, with what was typed over what the node has.
func (v *nodeViews) recordFields(c *gin.Context, d *draft, canSave bool) []views.PageField {
	values := d.values()
	reload := map[string]bool{}
	for i := range d.model.Fields {
		if dyn := d.model.Fields[i].Edit.Dynamic; dyn != nil {
			reload[dyn.Field] = true
		}
	}
	var out []views.PageField
	for i := range d.model.Fields {
		f := &d.model.Fields[i]
		if f.Edit.Type == "DIVIDE" && f.Edit.Title != "" {
			out = append(out, views.PageField{Control: "divide", Label: f.Edit.Title})
			continue
		}
		raw := d.row[f.Name]
		control := d.model.Control(f, raw, d.add)
		state := d.model.State(f, values)
		if control == buildmodel.ControlNone {
			continue
		}
		if isEditable(control) && (state.Locked || !canSave) {
			control = buildmodel.ControlShown
		}
		if d.add && !isEditable(control) && !d.row.Has(f.Name) {
			continue // nothing to show and nothing to enter
		}
		field := v.recordField(c, d, f, control)
		field.Hidden = state.Hidden
		field.Required = state.Required && !state.Hidden && isEditable(control)
		field.Reload = reload[f.Name] && isEditable(control)
		out = append(out, field)
	}
	return out
}

// values is the row as it would be with what was typed, for fields that depend on others.
func (d *draft) values() buildmodel.Row {
	out := buildmodel.Row{}
	for k, raw := range d.row {
		out[k] = raw
	}
	for name, e := range d.typed {
		if f := d.model.Field(name); f != nil {
			out[name] = d.model.Raw(f, e)
		}
	}
	return out
}

func (v *nodeViews) recordField(c *gin.Context, d *draft, f *buildmodel.Field, control buildmodel.Control) views.PageField {
	field := views.PageField{
		ID: "f-" + f.Name, Name: inputName(f), Label: f.Edit.Title, Hint: f.Edit.Desc, PlaceHolder: f.Edit.PlaceHolder,
		Control: string(control), Error: d.errors[f.Name], Wide: d.model.Layout.FullLine && !d.drawer,
	}
	entry, typed := d.typed[f.Name]
	if !typed {
		entry = d.model.Entry(f, d.row[f.Name])
	}
	field.Value, field.Many = entry.Text, entry.Many
	switch control {
	case buildmodel.ControlText:
		textField(f, &field)
	case buildmodel.ControlArea:
		field.Wide = true
	case buildmodel.ControlNumber:
		field.Hint = boundsHint(c, f, field.Hint)
	case buildmodel.ControlDate:
		dateField(c, f, d.row.Text(f.Name), &field)
	case buildmodel.ControlBool:
		field.Options = []views.PageOption{{Value: "true", Label: f.Edit.Bool.True}, {Value: "false", Label: f.Edit.Bool.False}}
	case buildmodel.ControlChoice:
		field.Radio = f.Edit.Radio
		field.Options = choices(f, []string{entry.Text})
	case buildmodel.ControlMulti:
		field.Options = choices(f, entry.Many)
	case buildmodel.ControlTags:
		tagsField(f, entry, &field)
	case buildmodel.ControlPassword:
		field.Value, field.Stored = "", d.row.Has(f.Name)
	case buildmodel.ControlRef:
		v.referenceField(c, d, f, entry.Ref, &field)
	case buildmodel.ControlRows:
		field.Wide = true
		rowsField(d.model.Tabs[f.Name], d.row[f.Name], &field)
	case buildmodel.ControlShown:
		shownField(d.model, f, d.row, &field)
	}
	return field
}

func textField(f *buildmodel.Field, field *views.PageField) {
	if f.Edit.Input.Length > 0 && f.Edit.Type == "INPUT" && len([]rune(field.Value)) <= f.Edit.Input.Length {
		field.Max = f.Edit.Input.Length
	}
	if len(f.Edit.Input.Prefix)+len(f.Edit.Input.Suffix) == 0 {
		return
	}
	prefix, middle, suffix := f.SplitAffix(field.Value)
	field.Value, field.Max = middle, 0
	field.Prefix = affixes(f.Edit.Input.Prefix, prefix)
	field.Suffix = affixes(f.Edit.Input.Suffix, suffix)
}

// affixes always offer none: an existing value need not have one.
func affixes(offered []buildmodel.Choice, chosen string) []views.PageOption {
	if len(offered) == 0 {
		return nil
	}
	var out []views.PageOption
	if !slices.ContainsFunc(offered, func(c buildmodel.Choice) bool { return c.Value == "" }) {
		out = append(out, views.PageOption{Label: "–", On: chosen == ""})
	}
	for _, c := range offered {
		out = append(out, views.PageOption{Value: c.Value, Label: c.Label, On: c.Value == chosen})
	}
	return out
}

func boundsHint(c *gin.Context, f *buildmodel.Field, hint string) string {
	if n := f.Edit.Number; hint == "" && n.Min != "" && n.Max != "" {
		return views.T(c.Request.Context(), "page.bounds", "min", n.Min, "max", n.Max)
	}
	return hint
}

func dateField(c *gin.Context, f *buildmodel.Field, stored string, field *views.PageField) {
	field.Date = f.Edit.Date.Kind
	if field.Value != "" && !f.DateFits(field.Value) {
		field.Date = "" // the browser's own input would show nothing and lose it
	}
	if m, ok := buildmodel.ParseMoment(stored); ok && m.Offset != "" && field.Date == "DATE_TIME" {
		field.Hint = strings.TrimSpace(field.Hint + " " + views.T(c.Request.Context(), "page.zone", "zone", strings.Replace(m.Offset, "Z", "+00:00", 1)))
	}
}

// choices are the options with the chosen ones marked; a chosen value that is no option any more stays choosable.
func choices(f *buildmodel.Field, chosen []string) []views.PageOption {
	var out []views.PageOption
	for _, ch := range f.Choices {
		out = append(out, views.PageOption{Value: ch.Value, Label: ch.Label, Desc: ch.Desc, Disabled: ch.Disabled, On: slices.Contains(chosen, ch.Value)})
	}
	for _, v := range chosen {
		if v != "" && !slices.ContainsFunc(out, func(o views.PageOption) bool { return o.Value == v }) {
			out = append(out, views.PageOption{Value: v, Label: v, On: true})
		}
	}
	return out
}

func tagsField(f *buildmodel.Field, entry buildmodel.Entry, field *views.PageField) {
	field.Free, field.Value = f.Edit.Tags.Free, ""
	offered := append(slices.Clone(entry.Many), f.Tags...)
	for _, c := range f.Choices {
		offered = append(offered, c.Value)
	}
	seen := map[string]bool{}
	for _, t := range offered {
		if !seen[t] {
			seen[t] = true
			field.Options = append(field.Options, views.PageOption{Value: t, Label: t, On: slices.Contains(entry.Many, t)})
		}
	}
}

func (v *nodeViews) referenceField(c *gin.Context, d *draft, f *buildmodel.Field, ref buildmodel.Ref, field *views.PageField) {
	field.Ref = views.PageRef{ID: ref.ID, Label: ref.Label, Depends: dependName("f.", f)}
	if d.pick == f.Name {
		v.fillRef(c, d.opened, f, field, d.finds.Get("find."+field.Name), dependID(d.finds, "f.", f))
	}
}

// rowsField shows the rows of a tab by the columns of their class.
func rowsField(tab *buildmodel.Model, raw []byte, field *views.PageField) {
	if tab == nil {
		return
	}
	cols := tab.Columns()
	for _, col := range cols {
		field.Columns = append(field.Columns, views.PageColumn{Title: col.View.Title, End: isNumeric(col)})
	}
	for _, r := range buildmodel.Rows(raw) {
		var cells []views.PageCell
		for _, col := range cols {
			cells = append(cells, cellView(col.Cell(r)))
		}
		field.Rows = append(field.Rows, cells)
	}
}

// shownField shows what cannot be edited here. A combined form is shown like one row of a tab.
func shownField(m *buildmodel.Model, f *buildmodel.Field, row buildmodel.Row, field *views.PageField) {
	field.Cell = cellView(f.Show(row[f.Name]))
	field.Wide = field.Wide || len(field.Cell.Text) > 60
	part := m.Combines[f.Name]
	if part == nil || !row.Has(f.Name) {
		return
	}
	in, err := buildmodel.ParseRow(row[f.Name])
	if err != nil {
		return
	}
	field.Control, field.Wide = string(buildmodel.ControlRows), true
	var cells []views.PageCell
	for i := range part.Fields {
		if pf := &part.Fields[i]; pf.InForm() {
			field.Columns = append(field.Columns, views.PageColumn{Title: pf.Edit.Title})
			cell := cellView(pf.Show(in[pf.Name]))
			cell.End = false
			cells = append(cells, cell)
		}
	}
	field.Rows = [][]views.PageCell{cells}
}

// entries reads what a form sent, for the fields that it may change.
func entries(d *draft, form url.Values) map[string]buildmodel.Entry {
	out := map[string]buildmodel.Entry{}
	for i := range d.model.Fields {
		f := &d.model.Fields[i]
		control := d.model.Control(f, d.base[f.Name], d.add)
		if !isEditable(control) {
			continue
		}
		if e, sent := entry(f, control, form); sent {
			out[f.Name] = e
		}
	}
	return out
}

func entry(f *buildmodel.Field, control buildmodel.Control, form url.Values) (buildmodel.Entry, bool) {
	name := inputName(f)
	text, sent := form.Get(name), form.Has(name)
	switch control {
	case buildmodel.ControlMulti:
		return buildmodel.Entry{Many: form[name]}, form.Has(name + ".m")
	case buildmodel.ControlTags:
		return buildmodel.Entry{Many: withAdded(form[name], form.Get(name+".add"))}, form.Has(name + ".m")
	case buildmodel.ControlPassword:
		return buildmodel.Entry{Text: text, Clear: form.Get(name+".clear") != ""}, sent
	case buildmodel.ControlRef:
		id, label := views.ParseRefValue(text)
		return buildmodel.Entry{Ref: buildmodel.Ref{ID: id, Label: label}}, sent
	case buildmodel.ControlText:
		if text != "" || len(f.Edit.Input.Prefix) == 0 {
			text = form.Get(name+".pre") + text + form.Get(name+".suf")
		}
	case buildmodel.ControlColor:
		text = strings.TrimSpace(text)
	}
	return buildmodel.Entry{Text: text}, sent
}

// withAdded appends tags that were typed, several with commas between.
func withAdded(tags []string, typed string) []string {
	for _, t := range strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == '，' }) {
		if t = strings.TrimSpace(t); t != "" && !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	return tags
}
