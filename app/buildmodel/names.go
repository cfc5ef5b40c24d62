package buildmodel

import "strings"

// SortsBy reports whether a table of the class may be sorted by a name: the primary key, the field of a view, or field and
// column of one. What is in a view is shown anyway, so its order tells nothing new; a password is not.
func (m *Model) SortsBy(name string) bool {
	if name == m.Key {
		return true
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Name != name && !strings.HasPrefix(name, f.Name+".") || f.Edit.Type == password {
			continue
		}
		for _, v := range f.Views {
			if v.Type == password {
				continue
			}
			if v.Column == "" && f.Name == name || v.Column != "" && f.Name+"."+v.Column == name {
				return true
			}
		}
	}
	return false
}

// password is the type of fields whose values are for nobody to see: a node compares a search with the stored value, so
// who may search can find it out (erupt-wire 10.7).
const password = "PASSWORD"

// Conceals reports whether a name is that of a password. Nodes find a field in any case of its letters.
func (m *Model) Conceals(name string) bool {
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Edit.Type == password && strings.EqualFold(f.Name, name) {
			return true
		}
	}
	return false
}
