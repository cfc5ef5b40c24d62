package access

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The JSON forms of a session in Redis, byte for byte those of erupt (erupt-wire 1.6, 3.3, 7.2): nulls are written, never
// left out.

type storedUser struct {
	ID         int64    `json:"id"`
	Account    string   `json:"account"`
	Username   string   `json:"username"`
	Org        *string  `json:"org"`
	Post       *string  `json:"post"`
	SuperAdmin bool     `json:"superAdmin"`
	Roles      []string `json:"roles"`
	TenantID   *string  `json:"tenantId"`
}

// listedMenu is an entry of the menu view.
type listedMenu struct {
	ID     int64   `json:"id"`
	Code   string  `json:"code"`
	Name   string  `json:"name"`
	Type   *string `json:"type"`
	Value  *string `json:"value"`
	Icon   *string `json:"icon"`
	Parent *int64  `json:"pid"`
}

// storedMenu is a value of the menu value map.
type storedMenu struct {
	Name       string      `json:"name"`
	Status     *int        `json:"status"`
	ParentMenu *storedMenu `json:"parentMenu"`
	Type       *string     `json:"type"`
	Value      *string     `json:"value"`
	Sort       *int        `json:"sort"`
	Icon       *string     `json:"icon"`
	Code       string      `json:"code"`
	Param      *string     `json:"param"`
	CreateBy   *string     `json:"createBy"`
	CreateTime *string     `json:"createTime"`
	UpdateBy   *string     `json:"updateBy"`
	UpdateTime *string     `json:"updateTime"`
	ID         int64       `json:"id"`
}

// loginFacts are ours, in a key of their own.
type loginFacts struct {
	Created time.Time `json:"created"`
	Address string    `json:"address"`
	Agent   string    `json:"agent"`
}

// deepest is how many menus may lie above one another; a longer chain is taken for a loop.
const deepest = 32

// eruptTime is erupt's pattern: milliseconds, no zone.
const eruptTime = "2006-01-02T15:04:05.000"

type encodedSession struct {
	user, view, login string
	values            map[string]string
	scopes            []any // code and scope in turn
}

func encodeSession(s Session, now time.Time) (encodedSession, error) {
	out := encodedSession{values: make(map[string]string, len(s.Values))}
	var err error
	if out.user, err = encode(storedUser{
		ID: s.UserID, Account: s.Account, Username: s.Name, Org: orNull(s.Org), Post: orNull(s.Post), SuperAdmin: s.Admin,
		Roles: append([]string{}, s.Roles...),
	}); err != nil {
		return out, err
	}
	if out.login, err = encode(loginFacts{Created: s.Created, Address: s.Address, Agent: s.Agent}); err != nil {
		return out, err
	}
	view := make([]listedMenu, 0, len(s.Menus))
	for _, m := range s.Menus {
		entry := listedMenu{ID: m.ID, Code: m.Code, Name: m.Name, Type: orNull(m.Type), Value: orNull(m.Value), Icon: orNull(m.Icon)}
		if m.Parent != 0 {
			entry.Parent = &m.Parent
		}
		view = append(view, entry)
	}
	if out.view, err = encode(view); err != nil {
		return out, err
	}
	for prefix, limits := range map[string]map[string][]int64{scopeField: s.Scopes, writeField: s.Writes} {
		for code, groups := range limits {
			list, err := encode(append([]int64{}, groups...))
			if err != nil {
				return out, err
			}
			out.scopes = append(out.scopes, prefix+code, list)
		}
	}
	all, stamp := s.menusByID(), now.Format(eruptTime)
	for key, m := range s.Values {
		if out.values[key], err = encode(nest(m, all, stamp, deepest)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// menusByID returns every menu that the session knows.
func (s *Session) menusByID() map[int64]Menu {
	all := make(map[int64]Menu, len(s.Values)+len(s.Above))
	for id, m := range s.Above {
		all[id] = m
	}
	for _, m := range s.Menus {
		all[m.ID] = m
	}
	for _, m := range s.Values {
		all[m.ID] = m
	}
	return all
}

func nest(m Menu, all map[int64]Menu, stamp string, depth int) *storedMenu {
	status := int(m.Status)
	out := &storedMenu{
		Name: m.Name, Status: &status, Type: orNull(m.Type), Value: orNull(m.Value), Sort: m.Sort, Icon: orNull(m.Icon),
		Code: m.Code, Param: orNull(m.Param), CreateTime: &stamp, ID: m.ID,
	}
	if up, ok := all[m.Parent]; ok && m.Parent != 0 && depth > 0 {
		out.ParentMenu = nest(up, all, stamp, depth-1)
	}
	return out
}

func decodeUser(s *Session, user, login string) error {
	var u storedUser
	if err := json.Unmarshal([]byte(user), &u); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	s.UserID, s.Name, s.Org, s.Post = u.ID, u.Username, orEmpty(u.Org), orEmpty(u.Post)
	s.Admin, s.Roles = u.SuperAdmin, u.Roles
	if len(s.Roles) == 0 {
		s.Roles = nil
	}
	if login == "" {
		return nil // made by a Java server
	}
	var facts loginFacts
	if err := json.Unmarshal([]byte(login), &facts); err != nil {
		return fmt.Errorf("login: %w", err)
	}
	s.Created, s.Address, s.Agent = facts.Created, facts.Address, facts.Agent
	return nil
}

// What the fields of the hash of scopes begin with: where a code is held, and where it counts for changes.
const (
	scopeField = "held:"
	writeField = "write:"
)

// decodeScope reads a limit of a code. What cannot be read is an error: without its limit the code would count everywhere.
func decodeScope(s *Session, field, list string) error {
	var groups []int64
	if err := json.Unmarshal([]byte(list), &groups); err != nil {
		return fmt.Errorf("read the stored scope %q for %s: %w", field, s.Account, err)
	}
	limits := &s.Scopes
	code, ok := strings.CutPrefix(field, scopeField)
	if !ok {
		limits = &s.Writes
		if code, ok = strings.CutPrefix(field, writeField); !ok {
			return nil // a later version's
		}
	}
	if *limits == nil {
		*limits = map[string][]int64{}
	}
	(*limits)[code] = groups
	return nil
}

func decodeMenus(s *Session, view string, values map[string]string) error {
	nested := map[int64]Menu{}
	s.Values = make(map[string]Menu, len(values))
	for key, text := range values {
		var m storedMenu
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return fmt.Errorf("menu value %q: %w", key, err)
		}
		s.Values[key] = m.menu()
		for up := m.ParentMenu; up != nil; up = up.ParentMenu {
			nested[up.ID] = up.menu()
		}
	}
	var listed []listedMenu
	if view != "" {
		if err := json.Unmarshal([]byte(view), &listed); err != nil {
			return fmt.Errorf("menu view: %w", err)
		}
	}
	known := make(map[int64]Menu, len(s.Values))
	for _, m := range s.Values {
		known[m.ID] = m
	}
	s.Menus = make([]Menu, 0, len(listed))
	for _, l := range listed {
		m, ok := known[l.ID]
		if !ok {
			m = nested[l.ID] // the view says nothing of sort and parameter
		}
		m.ID, m.Code, m.Name, m.Icon, m.Status = l.ID, l.Code, l.Name, orEmpty(l.Icon), MenuOpen
		m.Type, m.Value = orEmpty(l.Type), orEmpty(l.Value)
		if l.Parent != nil {
			m.Parent = *l.Parent
		}
		s.Menus, known[l.ID] = append(s.Menus, m), m
	}
	s.Above = map[int64]Menu{}
	for id, m := range nested {
		if _, ok := known[id]; !ok {
			s.Above[id] = m
		}
	}
	return nil
}

func (m *storedMenu) menu() Menu {
	out := Menu{
		ID: m.ID, Code: m.Code, Name: m.Name, Type: orEmpty(m.Type), Value: orEmpty(m.Value), Status: MenuOpen, Sort: m.Sort,
		Icon: orEmpty(m.Icon), Param: orEmpty(m.Param),
	}
	if m.Status != nil {
		out.Status = MenuStatus(*m.Status)
	}
	if m.ParentMenu != nil {
		out.Parent = m.ParentMenu.ID
	}
	return out
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
