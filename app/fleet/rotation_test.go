package fleet_test

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
)

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// TestTokenAge: the page shows which instances still use the token before the last rotation.
func TestTokenAge(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		_, first := mustNode(t, f, fleet.NewNode{Name: "n"})
		if g, ok := f.Nodes.Grace("n"); ok {
			t.Errorf("a grace before any rotation: %+v", g)
		}
		rotated := c.Now()
		second, err := f.Nodes.RotateToken(t.Context(), "n", "lin")
		if err != nil {
			t.Fatal(err)
		}
		want := fleet.Grace{Rotated: rotated, Account: "lin", Until: rotated.Add(24 * time.Hour)}
		if g, ok := f.Nodes.Grace("n"); !ok || g != want {
			t.Errorf("Grace = %+v, %t; want %+v", g, ok, want)
		}
		check := func(when string, old fleet.TokenAge) {
			t.Helper()
			for token, want := range map[string]fleet.TokenAge{first: old, second: fleet.TokenCurrent, "": fleet.TokenUnknown, "x": fleet.TokenUnknown} {
				if got := f.Nodes.TokenAge("n", digest(token)); got != want {
					t.Errorf("%s: TokenAge(%q) = %s, want %s", when, token, got, want)
				}
			}
			if got := f.Nodes.TokenAge("nobody", digest(second)); got != fleet.TokenUnknown {
				t.Errorf("%s: age %s at a node that is not there", when, got)
			}
		}
		check("in the grace", fleet.TokenOld)
		c.Advance(24 * time.Hour)
		check("after it", fleet.TokenUnknown)
		if g, ok := f.Nodes.Grace("n"); ok {
			t.Errorf("Grace after its end: %+v", g)
		}
		wantFault(t, "EndGrace after its end", f.Nodes.EndGrace(t.Context(), "n", "lin"), fault.NotFound, "no older token")
	})
}

func TestEndGrace(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		_, old := mustNode(t, f, fleet.NewNode{Name: "n"})
		wantFault(t, "EndGrace without a rotation", f.Nodes.EndGrace(t.Context(), "n", "wu"), fault.NotFound, "no older token")
		next, err := f.Nodes.RotateToken(t.Context(), "n", "lin")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Nodes.EndGrace(t.Context(), "n", "wu"); err != nil {
			t.Fatal(err)
		}
		_, err = f.Nodes.Authenticate(t.Context(), "n", old)
		wantFault(t, "the old token", err, fault.Unauthenticated, "invalid")
		if _, err = f.Nodes.Authenticate(t.Context(), "n", next); err != nil {
			t.Errorf("the new token: %v", err)
		}
		if age := f.Nodes.TokenAge("n", digest(old)); age != fleet.TokenUnknown {
			t.Errorf("the old token is %s", age)
		}
		if n, _ := f.Nodes.Cached("n"); n.UpdatedBy != "wu" {
			t.Errorf("updated by %q, want wu", n.UpdatedBy)
		}
		wantFault(t, "a node that is not there", f.Nodes.EndGrace(t.Context(), "nobody", "wu"), fault.NotFound, "nobody")
	})
}

// TestTextsThatDeceive: neither turned writing nor control characters get into what admins write about nodes.
func TestTextsThatDeceive(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustGroup(t, f, fleet.NewGroup{Code: "shop"})
		for name, text := range map[string]string{
			"an override": "a\u202eb", "an isolate": "a\u2066b", "a mark": "a\u200fb", "an escape": "a\x1b[31mb", "a C1 control": "a\u009bb",
		} {
			_, _, err := f.Nodes.Create(t.Context(), fleet.NewNode{Name: "n", Remark: text})
			wantFault(t, name+" in a remark", err, fault.Invalid, "remark")
			_, _, err = f.Nodes.Create(t.Context(), fleet.NewNode{Name: "n", Display: text})
			wantFault(t, name+" in a name", err, fault.Invalid, "display")
			_, err = f.Groups.Update(t.Context(), "shop", fleet.GroupPatch{Name: &text})
			wantFault(t, name+" in a group's name", err, fault.Invalid, "name")
			_, err = f.Holds.Set(t.Context(), fleet.Hold{Node: "n", Location: "http://a", Reason: text, Account: "lin"})
			wantFault(t, name+" in a reason", err, fault.Invalid, "reason")
		}
		for _, line := range []string{"a\nb", "a\u2028b", "a\tb"} {
			_, _, err := f.Nodes.Create(t.Context(), fleet.NewNode{Name: "n", Display: line})
			wantFault(t, "a name of two lines", err, fault.Invalid, "one line")
		}
		if _, _, err := f.Nodes.Create(t.Context(), fleet.NewNode{Name: "n", Display: "订单 é 🙂", Remark: "one\r\n\ttwo 订单"}); err != nil {
			t.Errorf("texts as people write them: %v", err)
		}
	})
}

// TestTwoRotationsAtOnce: the second of two admins, or of two clicks, does not cut off the instances that run (S12).
func TestTwoRotationsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		_, running := mustNode(t, f, fleet.NewNode{Name: "n"})
		var wait sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			wait.Go(func() { _, errs[i] = f.Nodes.RotateToken(t.Context(), "n", "lin") })
		}
		wait.Wait()
		refused := errs[0]
		if refused == nil {
			refused = errs[1]
		}
		wantFault(t, "one of the two", refused, fault.Conflict, "just now")
		if _, err := f.Nodes.Authenticate(t.Context(), "n", running); err != nil {
			t.Errorf("the token that instances run with: %v", err)
		}
		c.Advance(time.Minute)
		if _, err := f.Nodes.RotateToken(t.Context(), "n", "wu"); err != nil {
			t.Errorf("again after a minute, who was told what it means: %v", err)
		}
		if err := f.Nodes.EndGrace(t.Context(), "n", "wu"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Nodes.RotateToken(t.Context(), "n", "wu"); err != nil {
			t.Errorf("right after the end of the grace, which refuses nobody more: %v", err)
		}
	})
}
