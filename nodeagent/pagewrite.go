package nodeagent

import (
	"fmt"
	"slices"
)

const maxDelete = 1000

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
