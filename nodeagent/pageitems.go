package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"eruptcloud/nodeagent/wire"
)

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
