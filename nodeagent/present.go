package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"eruptcloud/nodeagent/wire"
)

// outward turns a value of a row into that of an answer: raw values (2.2's dialect), numbers that JavaScript would round as text,
// tags as JSON text, passwords as dots.
func (f *Field) outward(v any) any {
	if isEmpty(v) {
		return nil
	}
	switch f.Type {
	case TypePassword:
		return wire.Masked
	case TypeTags:
		text, err := json.Marshal(v)
		if err != nil {
			return nil // a source that puts something else there
		}
		return string(text)
	}
	return outwardScalar(v)
}

func outwardScalar(v any) any {
	if n, ok := v.(int64); ok && (n >= safeInteger || n <= -safeInteger) {
		return strconv.FormatInt(n, 10)
	}
	return v
}

// idText is an id as text, for tree nodes and references.
func idText(id ID) string {
	if n, ok := id.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	s, _ := id.(string)
	return s
}

// lookups holds the referenced rows that an answer needs, by page and id.
type lookups map[string]map[ID]Row

// lookup fetches all rows that rows refer to, one call for each page.
func (p *page) lookup(ctx context.Context, rows []Row) (lookups, error) {
	found := lookups{}
	return found, p.lookupInto(ctx, rows, found)
}

func (p *page) lookupInto(ctx context.Context, rows []Row, found lookups) error {
	for _, f := range p.fields {
		if item := p.items[f.Name]; item != nil {
			var items []Row
			for _, row := range rows {
				items = append(items, row.Items(f.Name)...)
			}
			if err := item.lookupInto(ctx, items, found); err != nil {
				return err
			}
		}
		if !f.isReference() {
			continue
		}
		target := p.target(f)
		if found[target.Name] == nil {
			found[target.Name] = map[ID]Row{}
		}
		have := found[target.Name]
		var missing []ID
		for _, row := range rows {
			id := row[f.Name]
			if _, known := have[id]; id != nil && !known {
				have[id] = nil
				missing = append(missing, id)
			}
		}
		if err := target.fetch(ctx, missing, have); err != nil {
			return err
		}
	}
	return nil
}

// fetch puts the rows with these ids into have. Hidden rows are among them: a label is no access to the row.
func (p *page) fetch(ctx context.Context, ids []ID, have map[ID]Row) error {
	if len(ids) == 0 {
		return nil
	}
	if many, ok := p.Source.(ManyFinder); ok {
		rows, err := many.FindMany(ctx, ids)
		if err != nil {
			return fmt.Errorf("find rows of %s: %w", p.Name, err)
		}
		for _, row := range rows {
			have[p.normal(row)[p.Key]] = row
		}
		return nil
	}
	for _, id := range ids {
		row, err := p.Source.Find(ctx, id)
		if err == nil {
			have[id] = p.normal(row)
		} else if !errors.Is(err, ErrNoRow) {
			return fmt.Errorf("find row of %s: %w", p.Name, err)
		}
	}
	return nil
}

// tableRow is a row as a table shows it: the key, and a value for each column.
func (p *page) tableRow(row Row, found lookups) object {
	out := object{p.Key: outwardScalar(row[p.Key])}
	for _, f := range p.fields {
		switch {
		case f.noColumn || f.Type == TypeItems:
		case f.isReference():
			p.flatten(out, f, row[f.Name], found)
		default:
			out[f.Name] = f.outward(row[f.Name])
		}
	}
	return out
}

// flatten adds the columns of a referenced row under field_column.
func (p *page) flatten(out object, f *Field, id ID, found lookups) {
	target := p.target(f)
	ref := found[target.Name][id]
	for _, c := range f.columns() {
		var v any
		if ref != nil && id != nil {
			v = target.byName[c.column].outward(ref[c.column])
		}
		out[f.Name+"_"+strings.ReplaceAll(c.column, ".", "_")] = v
	}
}

// detail is a row as a form shows it: the key and what has a value.
func (p *page) detail(row Row, found lookups) object {
	out := object{}
	if id := row[p.Key]; id != nil {
		out[p.Key] = outwardScalar(id)
	}
	for _, f := range p.fields {
		v := row[f.Name]
		switch {
		case f.Type == TypeDivide || f.noForm:
		case f.Type == TypeItems:
			items := make([]object, 0, len(row.Items(f.Name)))
			for _, item := range row.Items(f.Name) {
				items = append(items, p.items[f.Name].detail(item, found))
			}
			out[f.Name] = items
		case isEmpty(v):
		case f.isReference():
			out[f.Name] = p.reference(f, v, found)
			p.flatten(out, f, v, found)
		default:
			out[f.Name] = f.outward(v)
		}
	}
	return out
}

// reference is the object that stands for a referenced row in a form; its id is text.
func (p *page) reference(f *Field, id ID, found lookups) object {
	target := p.target(f)
	ref := found[target.Name][id]
	out := object{target.Key: idText(id), f.label: nil}
	if ref == nil {
		return out // the row is gone: the form still carries its id
	}
	out[f.label] = target.byName[f.label].outward(ref[f.label])
	for _, c := range f.columns() {
		out[c.column] = target.byName[c.column].outward(ref[c.column])
	}
	return out
}
