package access_test

import (
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
)

// The name of a long account is counted by its digest, which must not differ for each spelling.
func TestSpellingsOfLongAccountsGiveNoMoreTries(t *testing.T) {
	w := adoptedWorld(t, "1.12")
	long := strings.Repeat("a", 70)
	var err error
	for i := range 11 {
		_, err = w.Login.Attempt(t.Context(), access.Attempt{Account: strings.ToUpper(long[:i]) + long[i:], Password: "wrong", Address: "10.0.0.9"})
	}
	if !fault.Is(err, fault.TooMany) {
		t.Errorf("the eleventh spelling: %v", err)
	}
}

func TestCodesAreNotDotsAlone(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, code := range []string{".", "..", "..."} {
			_, err := w.Roles.Create(t.Context(), access.NewRole{Code: code, By: access.System})
			wants(t, "a role "+code, err, fault.Invalid)
			_, err = w.Menus.Create(t.Context(), access.NewMenu{Code: code, Name: "x"})
			wants(t, "a menu "+code, err, fault.Invalid)
		}
		w.role(t, "..a")
	})
}
