package testbed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// number is a 64-bit number as Gson writes it: text where a browser could not hold it.
func number(v int64) any {
	if v > 1<<53-1 || v < -(1<<53-1) {
		return strconv.FormatInt(v, 10)
	}
	return v
}

// view is a row as a table shows it: labels up to 2.1, values from 2.2 on (erupt-wire 4.7).
func (n *EruptNode) view(r eruptRow) map[string]any {
	out := map[string]any{"id": r.ID, "name": r.Name, "level": nil, "active": nil, "secret": nil, "big": number(r.Big), "since": nil}
	if r.Secret != nil {
		out["secret"] = mask
	}
	if r.Since != "" {
		out["since"] = r.Since + ".000"
	}
	if n.gen >= 22 {
		if r.Level != "" {
			out["level"] = r.Level
		}
		if r.Active != nil {
			out["active"] = *r.Active
		}
		return out
	}
	for _, l := range levels {
		if l["value"] == r.Level {
			out["level"] = l["label"]
		}
	}
	if r.Active != nil {
		out["active"] = map[bool]string{true: "Yes", false: "No"}[*r.Active]
	}
	return out
}

type tableQuery struct {
	LinkTreeVal json.RawMessage `json:"linkTreeVal"`
	Condition   []condition     `json:"condition"`
	Vis         *string         `json:"vis"`
	PageIndex   int             `json:"pageIndex"`
	PageSize    int             `json:"pageSize"`
	Sort        []sorting       `json:"sort"`
}

type condition struct {
	Key        string `json:"key"`
	Value      any    `json:"value"`
	Expression string `json:"expression"`
}

type sorting struct {
	Field     string `json:"field"`
	Direction string `json:"direction"`
}

// tablePage is the query given back, completed.
type tablePage struct {
	tableQuery
	TotalPage    int              `json:"totalPage"`
	Total        int              `json:"total"`
	List         []map[string]any `json:"list"`
	Alert        any              `json:"alert"`
	ExtraContent any              `json:"extraContent"`
}

func (n *EruptNode) table(w http.ResponseWriter, r *http.Request) {
	page := tablePage{List: []map[string]any{}}
	if err := json.NewDecoder(r.Body).Decode(&page.tableQuery); err != nil || page.PageIndex < 1 || page.PageSize < 1 {
		n.fails(w, r, fmt.Sprint("the query: ", err))
		return
	}
	if page.Condition == nil {
		page.Condition = []condition{}
	}
	n.mu.Lock()
	rows := slices.DeleteFunc(slices.Clone(n.rows), func(row eruptRow) bool {
		return slices.ContainsFunc(page.Condition, func(c condition) bool { return !fits(row, c) })
	})
	n.mu.Unlock()
	for _, s := range page.Sort {
		slices.SortStableFunc(rows, func(a, b eruptRow) int {
			order := 0
			switch s.Field {
			case "name":
				order = strings.Compare(a.Name, b.Name)
			case "big":
				order = cmp.Compare(a.Big, b.Big)
			}
			if s.Direction == "DESC" {
				return -order
			}
			return order
		})
	}
	page.Total = len(rows)
	page.TotalPage = (len(rows) + page.PageSize - 1) / page.PageSize
	from := min(len(rows), (page.PageIndex-1)*page.PageSize)
	for _, row := range rows[from:min(len(rows), from+page.PageSize)] {
		page.List = append(page.List, n.view(row))
	}
	writeJSON(w, page)
}

// fits reports whether a row meets a condition; keys that no search knows are dropped without a word.
func fits(r eruptRow, c condition) bool {
	value, _ := c.Value.(string)
	switch c.Key {
	case "name":
		if c.Expression == "EQ" {
			return r.Name == value
		}
		return strings.Contains(r.Name, value)
	case "level":
		return r.Level == value
	case "active":
		want, ok := c.Value.(bool)
		return ok && r.Active != nil && *r.Active == want
	}
	return true
}

// detail holds what is stored, without nulls.
func (n *EruptNode) detail(w http.ResponseWriter, r *http.Request, id string) {
	key, err := strconv.ParseInt(id, 10, 64)
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.find(key)
	if err != nil || i < 0 {
		n.fails(w, r, "Insufficient permissions. This operation will be recorded !")
		return
	}
	row := n.rows[i]
	out := map[string]any{"id": row.ID, "name": row.Name, "big": number(row.Big)}
	for key, v := range map[string]string{"level": row.Level, "since": row.Since} {
		if v != "" {
			out[key] = v
		}
	}
	if row.Active != nil {
		out["active"] = *row.Active
	}
	if row.Secret != nil {
		out["secret"] = mask
	}
	writeJSON(w, out)
}

// payload is what a form sends: a key that is missing is null, but for a password that is its mask.
type payload struct {
	ID     *flexible `json:"id"`
	Name   string    `json:"name"`
	Level  *string   `json:"level"`
	Active *bool     `json:"active"`
	Secret *string   `json:"secret"`
	Big    *flexible `json:"big"`
	Since  *string   `json:"since"`
}

// flexible is a number or the text of one.
type flexible int64

// UnmarshalJSON implements json.Unmarshaler.
func (f *flexible) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	*f = flexible(v)
	return err
}

func (p payload) row(was eruptRow) eruptRow {
	out := eruptRow{ID: was.ID, Name: strings.TrimSpace(p.Name), Active: p.Active, Secret: p.Secret}
	if p.Secret != nil && *p.Secret == mask {
		out.Secret = was.Secret
	}
	if p.Level != nil {
		out.Level = *p.Level
	}
	if p.Big != nil {
		out.Big = int64(*p.Big)
	}
	if p.Since != nil {
		out.Since, _, _ = strings.Cut(*p.Since, ".")
	}
	return out
}

func (n *EruptNode) insert(w http.ResponseWriter, r *http.Request) {
	n.write(w, r, func(p payload) string {
		n.add(p.row(eruptRow{}))
		return ""
	})
}

func (n *EruptNode) update(w http.ResponseWriter, r *http.Request) {
	n.write(w, r, func(p payload) string {
		if p.ID == nil {
			return "primary key is null"
		}
		i := n.find(int64(*p.ID))
		if i < 0 {
			return "Insufficient permissions. This operation will be recorded !"
		}
		n.rows[i] = p.row(n.rows[i])
		return ""
	})
}

// write reads a payload, validates it and stores it; store returns why it failed.
func (n *EruptNode) write(w http.ResponseWriter, r *http.Request, store func(payload) string) {
	var p payload
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		n.fails(w, r, err.Error())
		return
	}
	switch {
	case strings.TrimSpace(p.Name) == "":
		n.refuses(w, "Name is required")
		return
	case strings.Contains(p.Name, "<script"):
		n.refuses(w, "Name: illegal characters")
		return
	}
	n.mu.Lock()
	problem := store(p)
	n.mu.Unlock()
	if problem != "" {
		n.fails(w, r, problem)
		return
	}
	n.done200(w)
}

// remove deletes all of the ids or, if one is unknown, none.
func (n *EruptNode) remove(w http.ResponseWriter, r *http.Request) {
	var ids []flexible
	if err := json.NewDecoder(r.Body).Decode(&ids); err != nil {
		n.fails(w, r, err.Error())
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.ContainsFunc(ids, func(id flexible) bool { return n.find(int64(id)) < 0 }) {
		n.fails(w, r, "Insufficient permissions. This operation will be recorded !")
		return
	}
	n.rows = slices.DeleteFunc(n.rows, func(row eruptRow) bool { return slices.Contains(ids, flexible(row.ID)) })
	n.done200(w)
}
