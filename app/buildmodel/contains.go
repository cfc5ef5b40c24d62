package buildmodel

import "strings"

// Contains reports whether the page leads to a class of that simple name: through a field that refers to it or holds rows of
// it, through a tab, a combined form or the form of an operation, or through one of those one level further down. Only then
// may a right on the page stand for the class (erupt-wire 10.1). Names are compared as Java looks them up, ignoring case.
func (m *Model) Contains(simpleName string) bool {
	if simpleName == "" {
		return false
	}
	if m.names(simpleName) {
		return true
	}
	for _, c := range m.children() {
		if c.names(simpleName) {
			return true
		}
	}
	return false
}

func (m *Model) names(class string) bool {
	for i := range m.Fields {
		if f := &m.Fields[i]; classTypes[f.Edit.Type] && strings.EqualFold(simple(f.Returns), class) {
			return true
		}
	}
	for _, o := range m.Operations {
		if o.Class != "" && strings.EqualFold(simple(o.Class), class) {
			return true
		}
	}
	for _, c := range m.children() {
		if strings.EqualFold(c.Simple(), class) {
			return true
		}
	}
	return false
}

// HasDrill reports whether the page has a drill of that code that leads to that class.
func (m *Model) HasDrill(code, targetSimple string) bool {
	for _, d := range m.Drills {
		if code != "" && d.Code == code && strings.EqualFold(simple(d.Target), targetSimple) {
			return true
		}
	}
	return false
}
