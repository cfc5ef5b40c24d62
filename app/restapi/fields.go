package restapi

import (
	"eruptcloud/app/fault"
)

// nodeFields are the names that bodies here have for what the domain calls otherwise.
var nodeFields = map[string]string{"name": "nodeName", "display": "name", "token": "accessToken"}

// named returns err with the input at fault under the name that the body has for it.
func named(err error, names map[string]string) error {
	e := fault.Of(err)
	if e == nil || len(e.Fields) == 0 {
		return err
	}
	out := *e
	out.Fields = make(map[string]string, len(e.Fields))
	for field, text := range e.Fields {
		if name, ok := names[field]; ok {
			field = name
		}
		out.Fields[field] = text
	}
	return &out
}
