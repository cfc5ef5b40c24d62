package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"eruptcloud/nodeagent/wire"
)

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
