package nodeagent

import (
	"net/http"
)

// tablePage is the answer of a table query.
type tablePage struct {
	tableQuery
	TotalPage    int      `json:"totalPage"`
	Total        int      `json:"total"`
	List         []object `json:"list"`
	Alert        any      `json:"alert"`
	ExtraContent any      `json:"extraContent"`
}

func serveBuild(r *pageRequest) error { return r.build(r.page) }

// serveFieldBuild answers with the model of the page behind a field.
func serveFieldBuild(r *pageRequest) error {
	switch {
	case r.field.isReference():
		return r.build(r.page.target(r.field))
	case r.field.Type == TypeItems:
		return r.build(r.page.items[r.field.Name])
	}
	writeError(r.w, r.Request, http.StatusNotFound, "field "+r.field.Name+" has no page of its own")
	return nil
}

func (r *pageRequest) build(p *page) error {
	power := r.power
	if p != r.page {
		power = both(power, p.offered())
	}
	model, err := p.buildModel(r.Context(), power)
	if err != nil {
		return err
	}
	writeJSON(r.w, http.StatusOK, model)
	return nil
}

func serveTable(r *pageRequest) error {
	if r.page.Source == nil {
		return ErrNoRow // items have no table of their own
	}
	return r.table(r.page, nil)
}

// table answers a query for p's rows, narrowed by extra conditions.
func (r *pageRequest) table(p *page, extra []Condition) error {
	body, err := r.body(maxQueryBody)
	if err != nil {
		return err
	}
	t, q, err := p.decodeTable(body)
	if err != nil {
		return err
	}
	q.Conditions = append(q.Conditions, extra...)
	rows, total, err := p.query(r.Context(), q)
	if err != nil {
		return err
	}
	if err := p.afterQuery(r.Context(), rows); err != nil {
		return err
	}
	found, err := p.lookup(r.Context(), rows)
	if err != nil {
		return err
	}
	out := tablePage{tableQuery: t, Total: total, TotalPage: (total + q.Limit - 1) / q.Limit, List: make([]object, len(rows))}
	for i, row := range rows {
		out.List[i] = p.tableRow(row, found)
	}
	writeJSON(r.w, http.StatusOK, out)
	return nil
}

func serveExtraRow(r *pageRequest) error {
	writeJSON(r.w, http.StatusOK, []object{})
	return nil
}

func serveDetail(r *pageRequest) error {
	if !r.power.ViewDetails && !r.power.Edit {
		return errForbidden
	}
	id, ok := parseID(r.id, r.page.TextKey)
	if !ok || id == nil || r.page.Source == nil {
		return ErrNoRow
	}
	row, err := r.page.find(r.Context(), id)
	if err != nil {
		return err
	}
	if err := r.page.afterQuery(r.Context(), []Row{row}); err != nil {
		return err
	}
	return r.detail(row)
}

func (r *pageRequest) detail(row Row) error {
	found, err := r.page.lookup(r.Context(), []Row{row})
	if err != nil {
		return err
	}
	writeJSON(r.w, http.StatusOK, r.page.detail(row, found))
	return nil
}

// serveInitValue answers with the values of a new form.
func serveInitValue(r *pageRequest) error {
	row := r.page.defaults()
	if r.page.Hooks.Init != nil {
		if err := r.page.Hooks.Init(r.Context(), row); err != nil {
			return err
		}
	}
	found, err := r.page.lookup(r.Context(), []Row{row})
	if err != nil {
		return err
	}
	out := r.page.detail(r.page.normal(row), found)
	for name := range r.page.items {
		if len(row.Items(name)) == 0 {
			delete(out, name)
		}
	}
	writeJSON(r.w, http.StatusOK, out)
	return nil
}

func (p *page) defaults() Row {
	row := Row{}
	for _, f := range p.fields {
		if f.initial != nil {
			row[f.Name] = f.initial
		}
	}
	return p.normal(cloneRow(row))
}

func serveReferenceTree(r *pageRequest) error {
	if r.field.Type != TypeReferenceTree {
		return invalid("field %s refers to no tree", r.field.Name)
	}
	conditions, err := r.dependence()
	if err != nil {
		return err
	}
	return r.tree(r.page.target(r.field), conditions)
}

func serveReferenceTable(r *pageRequest) error {
	if r.field.Type != TypeReferenceTable {
		return invalid("field %s refers to no table", r.field.Name)
	}
	conditions, err := r.dependence()
	if err != nil {
		return err
	}
	return r.table(r.page.target(r.field), conditions)
}

// dependence narrows what a reference offers by the value of the field that it depends on.
func (r *pageRequest) dependence() ([]Condition, error) {
	if r.field.dependField == "" {
		return nil, nil
	}
	target := r.page.target(r.field)
	by, column := r.page.byName[r.field.dependField], target.byName[r.field.dependColumn]
	value := r.URL.Query().Get("dependValue")
	if value == "" {
		return nil, Refuse("%s", r.say("Please select first %s", by.Title))
	}
	textKey := column.isReference() && target.target(column).TextKey
	v, err := column.parse(value, textKey)
	if err != nil {
		return nil, invalid("dependValue does not fit field %s", column.Name)
	}
	return []Condition{{Field: column.Name, Operator: EQ, Value: v}}, nil
}

// serveChoices answers with the options of a field, given what the form holds.
func serveChoices(r *pageRequest) error {
	options, err := r.options()
	if err != nil {
		return err
	}
	writeJSON(r.w, http.StatusOK, optionList(options))
	return nil
}

func serveTagChoices(r *pageRequest) error {
	options, err := r.options()
	if err != nil {
		return err
	}
	writeJSON(r.w, http.StatusOK, optionValues(options))
	return nil
}

func (r *pageRequest) options() ([]Option, error) {
	form, err := r.form()
	if err != nil {
		return nil, err
	}
	return r.field.currentOptions(r.Context(), r.page.looseForm(form))
}

// looseForm reads what can be read of a form that is still being filled in.
func (p *page) looseForm(form map[string]any) Row {
	row := Row{}
	for _, f := range p.fields {
		raw, ok := form[f.Name]
		if !ok || f.Type == TypeItems || f.Type == TypeDivide || f.Type == TypePassword {
			continue
		}
		if v, err := f.parse(raw, f.isReference() && p.target(f).TextKey); err == nil && v != nil {
			row[f.Name] = v
		}
	}
	return row
}
