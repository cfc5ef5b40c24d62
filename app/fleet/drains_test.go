package fleet_test

import (
	"slices"
	"testing"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
)

// TestDrains: an order belongs to one instance, stays as it was given, and ends when it is called off, when the instance has
// left, or with the node (D12).
func TestDrains(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		mustNode(t, f, fleet.NewNode{Name: "orders"})
		var heard []string
		f.Listen(func(kind, id string) { heard = append(heard, kind+" "+id) })
		want := fleet.Drain{Node: "orders", Instance: "i1", Reason: "release\n2.0", Account: "lin", Created: c.Now()}
		got, err := f.Drains.Start(t.Context(), fleet.Drain{Node: "orders", Instance: "i1", Reason: "release\n2.0", Account: "lin"})
		if err != nil || got != want {
			t.Fatalf("Start = %+v, %v; want %+v", got, err, want)
		}
		c.Advance(time.Minute)
		if got, err = f.Drains.Start(t.Context(), fleet.Drain{Node: "orders", Instance: "i1", Reason: "again", Account: "wu"}); err != nil || got != want {
			t.Errorf("a second Start = %+v, %v; want the first %+v", got, err, want)
		}
		if got, ok := f.Drains.Draining("orders", "i1"); !ok || got != want {
			t.Errorf("Draining = %+v, %t; want %+v", got, ok, want)
		}
		for _, other := range []string{"i2", "I1", "i1 ", ""} {
			if _, ok := f.Drains.Draining("orders", other); ok {
				t.Errorf("%q drains with i1", other)
			}
		}
		if of, err := f.Drains.Of(t.Context(), "orders"); err != nil || !slices.Equal(of, []fleet.Drain{want}) || !slices.Equal(f.Drains.All(), of) {
			t.Errorf("Of = %+v, %v, All = %+v", of, err, f.Drains.All())
		}
		if !slices.Equal(heard, []string{"drain orders"}) {
			t.Errorf("listeners heard %q, want one drain of orders", heard)
		}
		if err := f.Drains.End(t.Context(), "orders", "i1", "lin"); err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Drains.Draining("orders", "i1"); ok {
			t.Error("it drains after its end")
		}
		wantFault(t, "a second End", f.Drains.End(t.Context(), "orders", "i1", "lin"), fault.NotFound, "not draining")
		if err := f.Drains.Forget(t.Context(), "orders", "i1"); err != nil {
			t.Errorf("Forget of nothing: %v", err)
		}
		for _, instance := range []string{"i1", "i2"} {
			if _, err := f.Drains.Start(t.Context(), fleet.Drain{Node: "orders", Instance: instance, Account: "lin"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Drains.Forget(t.Context(), "orders", "i1"); err != nil {
			t.Fatal(err)
		}
		if all := f.Drains.All(); len(all) != 1 || all[0].Instance != "i2" {
			t.Errorf("after i1 left: %+v", all)
		}
		if err := f.Nodes.Delete(t.Context(), "orders", "lin"); err != nil {
			t.Fatal(err)
		}
		if all := f.Drains.All(); len(all) != 0 {
			t.Errorf("after the node was deleted: %+v", all)
		}
	})
}

func TestDrainsThatCannotBe(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustNode(t, f, fleet.NewNode{Name: "orders"})
		tests := map[string]struct {
			drain fleet.Drain
			code  fault.Code
			text  string
		}{
			"no such node":       {fleet.Drain{Node: "nobody", Instance: "i1", Account: "lin"}, fault.NotFound, "nobody"},
			"another spelling":   {fleet.Drain{Node: "Orders", Instance: "i1", Account: "lin"}, fault.NotFound, "Orders"},
			"no instance":        {fleet.Drain{Node: "orders", Account: "lin"}, fault.Invalid, "needs the instance"},
			"a reason that lies": {fleet.Drain{Node: "orders", Instance: "i1", Reason: "safe\u202eesrever", Account: "lin"}, fault.Invalid, "direction of writing"},
		}
		for name, tt := range tests {
			_, err := f.Drains.Start(t.Context(), tt.drain)
			wantFault(t, name, err, tt.code, tt.text)
		}
	})
}
