package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"eruptcloud/nodeagent/wire"
)

const maxDelete = 1000

// rejection is a form that is not acceptable: what is wrong with which field, in the user's language.
type rejection struct {
	first  string
	fields map[string]string
	data   any // what to send back with it, for rows of items
}

func (e *rejection) Error() string { return e.first }

func (e *rejection) result() wire.Result {
	res := result(wire.StatusError, wire.PromptMessage, e.first)
	res.Fields, res.Data = e.fields, e.data
	return res
}

// add notes a problem. The first one becomes the message.
func (e *rejection) add(field, message string) {
	if e.first == "" {
		e.first = message
	}
	if e.fields == nil {
		e.fields = map[string]string{}
	}
	if _, known := e.fields[field]; !known {
		e.fields[field] = message
	}
}

// orNil returns e as an error only if something is wrong.
func (e *rejection) orNil() error {
	if e.first == "" {
		return nil
	}
	return e
}

func serveInsert(r *pageRequest) error {
	if !r.power.Add || r.page.Source == nil {
		return errForbidden
	}
	form, err := r.form()
	if err != nil {
		return err
	}
	row, err := r.accept(r.page, form, nil)
	if err != nil {
		return err
	}
	if r.page.Hooks.BeforeAdd != nil {
		if err := r.page.Hooks.BeforeAdd(r.Context(), row); err != nil {
			return err
		}
	}
	delete(row, r.page.Key)
	if _, err := r.page.Source.Insert(r.Context(), r.page.normal(row)); err != nil {
		return fmt.Errorf("insert into %s: %w", r.page.Name, err)
	}
	return r.done()
}

func serveUpdate(r *pageRequest) error {
	if !r.power.Edit || r.page.Source == nil {
		return errForbidden
	}
	form, err := r.form()
	if err != nil {
		return err
	}
	id, ok := parseID(form[r.page.Key], r.page.TextKey)
	if !ok || id == nil {
		return invalid("the form names no row: %s is missing or no id", r.page.Key)
	}
	old, err := r.page.find(r.Context(), id)
	if err != nil {
		return err
	}
	row, err := r.accept(r.page, form, old)
	if err != nil {
		return err
	}
	if r.page.Hooks.BeforeUpdate != nil {
		if err := r.page.Hooks.BeforeUpdate(r.Context(), old, row); err != nil {
			return err
		}
	}
	row[r.page.Key] = id
	if err := r.page.Source.Update(r.Context(), r.page.normal(row)); err != nil {
		return fmt.Errorf("update %s: %w", r.page.Name, err)
	}
	return r.done()
}

func serveDelete(r *pageRequest) error {
	if !r.power.Delete || r.page.Source == nil {
		return errForbidden
	}
	body, err := r.body(maxQueryBody)
	if err != nil {
		return err
	}
	var raw []any
	if err := decodeJSON(body, &raw); err != nil {
		return err
	}
	if len(raw) == 0 || len(raw) > maxDelete {
		return invalid("between 1 and %d ids are needed", maxDelete)
	}
	var ids []ID
	var rows []Row
	for _, v := range raw {
		id, ok := parseID(v, r.page.TextKey)
		if !ok || id == nil {
			return invalid("not an id among the ids")
		}
		if slices.Contains(ids, id) {
			continue
		}
		row, err := r.page.find(r.Context(), id)
		if err != nil {
			return err // one unknown row deletes nothing
		}
		ids, rows = append(ids, id), append(rows, row)
	}
	if err := r.stillUsed(ids); err != nil {
		return err
	}
	if r.page.Hooks.BeforeDelete != nil {
		if err := r.page.Hooks.BeforeDelete(r.Context(), rows); err != nil {
			return err
		}
	}
	if err := r.page.Source.Delete(r.Context(), ids); err != nil {
		return fmt.Errorf("delete from %s: %w", r.page.Name, err)
	}
	return r.done()
}

// stillUsed refuses the deletion of rows that rows of this node refer to, also of this very page unless they go as well.
func (r *pageRequest) stillUsed(ids []ID) error {
	var failed error
	r.agent.pages.each(func(p *page) {
		if p.Source == nil || failed != nil {
			return
		}
		for _, f := range p.fields {
			if !f.isReference() || p.target(f) != r.page {
				continue
			}
			q := Query{Conditions: []Condition{{Field: f.Name, Operator: IN, Values: ids}}, Limit: len(ids) + 1}
			rows, _, err := p.Source.Query(r.Context(), q)
			if err != nil {
				failed = fmt.Errorf("query %s: %w", p.Name, err)
				return
			}
			for _, row := range rows {
				if p != r.page || !slices.Contains(ids, row[p.Key]) {
					failed = Refuse("%s", r.say("Still used by %s: deletion is refused", orDefault(p.Title, p.Name)))
					return
				}
			}
		}
	})
	return failed
}

// accept checks a form against p and returns the row to store. old is the stored row, nil for a new one. The error is a *rejection
// for what a person can put right.
func (r *pageRequest) accept(p *page, form map[string]any, old Row) (Row, error) {
	row := Row{}
	wrong := &rejection{}
	for _, f := range p.fields {
		if err := r.acceptField(p, f, form, row, old, wrong); err != nil {
			return nil, err
		}
	}
	// Limits that look at other fields come when all are read.
	for _, f := range p.fields {
		if _, failed := wrong.fields[f.Name]; failed || !f.taken(old != nil) {
			continue
		}
		err := r.acceptLimits(p, f, row, old)
		if bad, ok := isProblem(err); ok {
			wrong.add(f.Name, bad.text(r.lang, f.Title))
		} else if err != nil {
			return nil, err
		}
	}
	return row, wrong.orNil()
}

// taken reports whether people may set the field in a form for a new or a stored row.
func (f *Field) taken(editing bool) bool {
	return f.Type != TypeDivide && !f.noForm && !(editing && f.readOnEdit) && !(!editing && f.readOnAdd)
}

// acceptField reads one field of the form into row. What is not people's to set keeps its stored value, or gets its default.
func (r *pageRequest) acceptField(p *page, f *Field, form map[string]any, row, old Row, wrong *rejection) error {
	if f.Type == TypeDivide {
		return nil
	}
	raw, sent := form[f.Name]
	switch {
	case !f.taken(old != nil):
		keep(row, f.Name, old, f.initial)
		return nil
	case f.Type == TypePassword && raw == wire.Masked:
		keep(row, f.Name, old, nil)
		return nil
	case f.Type == TypeItems && !sent:
		keep(row, f.Name, old, nil) // a client that does not know the items must not delete them
		return nil
	case f.Type == TypeItems:
		return r.acceptItems(p, f, raw, row, old, wrong)
	}
	v, err := f.parse(raw, f.isReference() && p.target(f).TextKey)
	if bad, ok := isProblem(err); ok {
		wrong.add(f.Name, bad.text(r.lang, f.Title))
	} else if err != nil {
		return err
	} else if v != nil {
		row[f.Name] = v
	}
	return nil
}

func keep(row Row, name string, old Row, initial any) {
	v := initial
	if old != nil {
		v = old[name]
	}
	if v != nil {
		row[name] = v
	}
}

// acceptLimits checks a value that was read: required, limits, options, the referenced row, uniqueness.
func (r *pageRequest) acceptLimits(p *page, f *Field, row, old Row) error {
	v := row[f.Name]
	if isEmpty(v) {
		if f.required {
			return bad("%s is required")
		}
		return nil
	}
	if old != nil && reflect.DeepEqual(old[f.Name], v) {
		return nil // a row must stay savable when its page got stricter, or what it refers to has gone
	}
	if err := f.allow(r.Context(), v, row, old); err != nil {
		return err
	}
	if f.isReference() {
		return r.acceptReference(p, f, row, old)
	}
	if f.unique && p.Source != nil {
		return p.acceptUnique(r.Context(), f, v, old)
	}
	return nil
}

// acceptReference makes sure that the referenced row exists, fits what it depends on, and does not close a circle in a tree.
func (r *pageRequest) acceptReference(p *page, f *Field, row, old Row) error {
	target := p.target(f)
	ref, err := target.find(r.Context(), row[f.Name])
	if errors.Is(err, ErrNoRow) {
		return bad("%s: there is no such row")
	} else if err != nil {
		return err
	}
	if by := row[f.dependField]; f.dependField != "" && !isEmpty(by) && !equalValues(ref[f.dependColumn], by) {
		return bad("%s must be a row of the list")
	}
	if p.Tree != nil && f.Name == p.Tree.Parent && old != nil {
		return p.acceptParent(r.Context(), old[p.Key], ref)
	}
	return nil
}

// acceptParent climbs from the new parent to the root; meeting the row itself would make a circle.
func (p *page) acceptParent(ctx context.Context, id ID, parent Row) error {
	for range maxTreeRows {
		if parent[p.Key] == id {
			return bad("%s must not lie below itself")
		}
		above := parent[p.Tree.Parent]
		if above == nil {
			return nil
		}
		next, err := p.Source.Find(ctx, above)
		if errors.Is(err, ErrNoRow) {
			return nil
		} else if err != nil {
			return fmt.Errorf("find row of %s: %w", p.Name, err)
		}
		parent = p.normal(next)
	}
	return bad("%s must not lie below itself")
}

func (p *page) acceptUnique(ctx context.Context, f *Field, v any, old Row) error {
	rows, _, err := p.Source.Query(ctx, Query{Conditions: []Condition{{Field: f.Name, Operator: EQ, Value: v}}, Limit: 2})
	if err != nil {
		return fmt.Errorf("query %s: %w", p.Name, err)
	}
	for _, row := range rows {
		if old == nil || p.normal(row)[p.Key] != old[p.Key] {
			return bad("%s is already taken")
		}
	}
	return nil
}

// acceptItems checks the rows of an Items field. An item that is stored already keeps its id; any other id is a new item's
// temporary one.
func (r *pageRequest) acceptItems(p *page, f *Field, raw any, row, old Row, wrong *rejection) error {
	if raw == nil {
		raw = []any{}
	}
	list, ok := raw.([]any)
	if !ok {
		wrong.add(f.Name, r.say("%s must be a list", f.Title))
		return nil
	}
	if len(list) > maxItems {
		wrong.add(f.Name, r.say("%s has more than %d entries", f.Title, maxItems))
		return nil
	}
	item := p.items[f.Name]
	stored := map[ID]Row{}
	for _, s := range old.Items(f.Name) {
		stored[s[item.Key]] = s
	}
	rows := make([]Row, 0, len(list))
	for i, entry := range list {
		object, ok := entry.(map[string]any)
		if !ok {
			wrong.add(f.Name, r.say("%s must be a list", f.Title))
			return nil
		}
		id, _ := parseID(object[item.Key], item.TextKey)
		before := stored[id]
		accepted, err := r.accept(item, object, before)
		var inner *rejection
		if errors.As(err, &inner) {
			wrong.add(f.Name, r.say("%s: item %d: %s", f.Title, i+1, inner.first))
			for name, message := range inner.fields {
				wrong.add(fmt.Sprintf("%s[%d].%s", f.Name, i, name), message)
			}
			continue
		} else if err != nil {
			return err
		}
		if before != nil {
			accepted[item.Key] = id
			delete(stored, id) // a second item with the same id is a new one
		}
		rows = append(rows, accepted)
	}
	if len(rows) > 0 {
		row[f.Name] = rows
	}
	return nil
}

// serveTabRow checks a row of items before the form shows it. data is the row as it would be stored.
func serveTabRow(r *pageRequest) error {
	item := r.page.items[r.field.Name]
	if item == nil {
		return invalid("field %s has no items", r.field.Name)
	}
	if !r.power.Add && !r.power.Edit {
		return errForbidden
	}
	form, err := r.form()
	if err != nil {
		return err
	}
	row, err := r.accept(item, form, nil)
	var wrong *rejection
	if err != nil && !errors.As(err, &wrong) {
		return err
	}
	hook := item.Hooks.BeforeAdd
	if wrong == nil && strings.Contains(r.URL.Path, "/tab-add/") && hook != nil {
		if err := hook(r.Context(), row); err != nil {
			return err
		}
	}
	if wrong == nil && !strings.Contains(r.URL.Path, "/tab-add/") && item.Hooks.BeforeUpdate != nil {
		if err := item.Hooks.BeforeUpdate(r.Context(), nil, row); err != nil {
			return err
		}
	}
	data, err := item.plain(r.Context(), item.normal(row), form[item.Key])
	if err != nil {
		return err
	}
	if wrong != nil {
		wrong.data = data
		return wrong
	}
	writeJSON(r.w, http.StatusOK, wire.Result{Data: data, Success: true, Status: wire.StatusSuccess, PromptWay: wire.PromptMessage})
	return nil
}

// plain is a row of items as the tab calls return it: as a detail, but with nulls, and with whatever id the form gave it.
func (p *page) plain(ctx context.Context, row Row, id any) (object, error) {
	found, err := p.lookup(ctx, []Row{row})
	if err != nil {
		return nil, err
	}
	out := p.detail(row, found)
	for _, f := range p.fields {
		if _, ok := out[f.Name]; !ok && f.Type != TypeDivide {
			out[f.Name] = nil
		}
	}
	out[p.Key] = id
	return out, nil
}

// serveTabDelete lets the item page's hook refuse that a row of items is taken out of a form.
func serveTabDelete(r *pageRequest) error {
	item := r.page.items[r.field.Name]
	if item == nil {
		return invalid("field %s has no items", r.field.Name)
	}
	if !r.power.Add && !r.power.Edit {
		return errForbidden
	}
	form, err := r.form()
	if err != nil {
		return err
	}
	if item.Hooks.BeforeDelete != nil {
		if err := item.Hooks.BeforeDelete(r.Context(), []Row{item.looseForm(form)}); err != nil {
			return err
		}
	}
	return r.done()
}
