package views

import (
	"context"
	"strings"
)

// menuName is a menu's name in the viewer's language if it is the one that erupt's first start gives; a name that
// somebody chose stays.
func menuName(ctx context.Context, code, name string) string {
	key := "menu." + code
	if _, function, ok := strings.Cut(code, "@"); ok {
		key = "menu.@" + function
	}
	if Text(Langs[0], key) != name {
		return name
	}
	return T(ctx, key)
}

// actionWord says what an entry of the operation log did. Entries of nodes' pages are "INSERT | node.Erupt", as erupt
// writes them; what is not known is shown as it is.
func actionWord(ctx context.Context, action string) string {
	code, rest, ok := strings.Cut(action, " | ")
	key := "audit.do." + code
	word := T(ctx, key)
	if word == key {
		return action
	}
	if ok {
		word += " | " + rest
	}
	return word
}
