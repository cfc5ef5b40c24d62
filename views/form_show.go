package views

import (
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

func typeOr(t string) string {
	if t == "" {
		return "text"
	}
	return t
}

func fieldAttrs(f Fields, name string, o fieldOpts) templ.Attributes {
	a := templ.Attributes{}
	var by []string
	if o.Hint != "" {
		by = append(by, "h-"+name)
	}
	if f.Err(name) != "" {
		by = append(by, "e-"+name)
		a["aria-invalid"] = "true"
	}
	if len(by) > 0 {
		a["aria-describedby"] = strings.Join(by, " ")
	}
	if o.Auto != "" {
		a["autocomplete"] = o.Auto
	}
	if o.Max > 0 {
		a["maxlength"] = strconv.Itoa(o.Max)
	}
	return a
}

// orphans are messages for inputs that the forms of this console do not have under that name; they must not get lost.
func orphans(f Fields) []string {
	var out []string
	for name := range f.Errors {
		if !knownInputs[name] {
			out = append(out, name)
		}
	}
	return out
}

var knownInputs = map[string]bool{
	"name": true, "display": true, "group": true, "duty": true, "remark": true, "code": true, "parent": true,
	"account": true, "password": true, "old": true, "new": true, "again": true, "phone": true, "email": true,
	"config": true, "note": true, "sort": true, "confirm": true,
	"org": true, "post": true, "home": true, "weight": true, "minutes": true, "file": true, "text": true, "expires": true, "allowedIPs": true,
	"type": true, "value": true, "icon": true, "status": true,
}

// GroupOption is a group to choose from, in tree order.
type GroupOption struct {
	Code, Name string
	Depth      int
}

func (g GroupOption) indented() string { return strings.Repeat("  ", g.Depth) + g.Name }
