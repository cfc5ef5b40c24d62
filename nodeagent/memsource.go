package nodeagent

import (
	"context"
	"slices"
	"sync"
)

// MemSource keeps rows in memory, under 64-bit ids that it counts up itself; the key of its page is "id". It is safe for concurrent use, also by several
// pages and agents at once. What goes in and out are copies.
type MemSource struct {
	mu     sync.RWMutex
	key    string
	rows   map[int64]Row
	order  []int64 // ids as they were inserted
	next   int64   // next id of a row
	item   int64   // next id of an item within a row
	unique []string
}

// NewMemSource returns a source with rows; those without an id get one.
func NewMemSource(rows ...Row) *MemSource {
	s := &MemSource{key: defaultKey, rows: make(map[int64]Row, len(rows)), next: 1, item: 1}
	for _, row := range rows {
		s.put(cloneRow(row))
	}
	return s
}

// Constrain implements Constrained.
func (s *MemSource) Constrain(fields []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range fields {
		if !slices.Contains(s.unique, f) {
			s.unique = append(s.unique, f)
		}
	}
}

// Len returns how many rows there are.
func (s *MemSource) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.rows)
}

// Query implements Source. Without a sort, rows come in the order of their insertion.
func (s *MemSource) Query(_ context.Context, q Query) ([]Row, int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []Row
	for _, id := range s.order {
		if row := s.rows[id]; q.Matches(row) {
			found = append(found, row)
		}
	}
	total := len(found)
	page := q.Arrange(found)
	out := make([]Row, len(page))
	for i, row := range page {
		out[i] = cloneRow(row)
	}
	return out, total, nil
}

// Find implements Source.
func (s *MemSource) Find(_ context.Context, id ID) (Row, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, _ := id.(int64)
	if row, ok := s.rows[n]; ok {
		return cloneRow(row), nil
	}
	return nil, ErrNoRow
}

// FindMany implements ManyFinder.
func (s *MemSource) FindMany(_ context.Context, ids []ID) ([]Row, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []Row
	for _, id := range ids {
		if n, ok := id.(int64); ok {
			if row, ok := s.rows[n]; ok {
				found = append(found, cloneRow(row))
			}
		}
	}
	return found, nil
}

// Insert implements Source.
func (s *MemSource) Insert(_ context.Context, row Row) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row = cloneRow(row)
	delete(row, s.key)
	if err := s.taken(row, 0); err != nil {
		return nil, err
	}
	return s.put(row), nil
}

// Update implements Source.
func (s *MemSource) Update(_ context.Context, row Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _ := row[s.key].(int64)
	if _, ok := s.rows[id]; !ok {
		return ErrNoRow
	}
	if err := s.taken(row, id); err != nil {
		return err
	}
	row = cloneRow(row)
	s.numberItems(row)
	s.rows[id] = row
	return nil
}

// Delete implements Source.
func (s *MemSource) Delete(_ context.Context, ids []ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		n, ok := id.(int64)
		if _, exists := s.rows[n]; !ok || !exists {
			return ErrNoRow
		}
	}
	for _, id := range ids {
		n := id.(int64)
		delete(s.rows, n)
		s.order = slices.DeleteFunc(s.order, func(have int64) bool { return have == n })
	}
	return nil
}

// put stores row, with a new id if it has none. The lock is held, or nobody else knows the source yet.
func (s *MemSource) put(row Row) int64 {
	id, ok := row[s.key].(int64)
	if !ok {
		id = s.next
		row[s.key] = id
	}
	s.next = max(s.next, id+1)
	s.numberItems(row)
	if _, exists := s.rows[id]; !exists {
		s.order = append(s.order, id)
	}
	s.rows[id] = row
	return id
}

// numberItems gives new items of a row their ids. The lock is held.
func (s *MemSource) numberItems(row Row) {
	for _, v := range row {
		items, _ := v.([]Row)
		for _, item := range items {
			id, ok := item[defaultKey].(int64)
			if !ok {
				id = s.item
				item[defaultKey] = id
			}
			s.item = max(s.item, id+1)
		}
	}
}

// taken returns a *DuplicateError if another row than id has one of row's unique values. The lock is held.
func (s *MemSource) taken(row Row, id int64) error {
	for _, field := range s.unique {
		v := row[field]
		if isEmpty(v) {
			continue
		}
		for other, have := range s.rows {
			if other != id && equalValues(have[field], v) {
				return &DuplicateError{Field: field}
			}
		}
	}
	return nil
}

// cloneRow copies a row with its lists.
func cloneRow(row Row) Row {
	out := make(Row, len(row))
	for k, v := range row {
		switch v := v.(type) {
		case []string:
			out[k] = slices.Clone(v)
		case []Row:
			items := make([]Row, len(v))
			for i, item := range v {
				items[i] = cloneRow(item)
			}
			out[k] = items
		default:
			out[k] = v
		}
	}
	return out
}
