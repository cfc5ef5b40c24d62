package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"eruptcloud/app/fleet"
)

// TestRefusals: the page says since when a node shows a wrong token, until it is accepted or falls silent (S12).
func TestRefusals(t *testing.T) {
	c := newClock()
	r := fleet.NewRefusals(c.Now)
	var heard []fleet.Refusal
	r.Listen(func(f fleet.Refusal) { heard = append(heard, f) })
	start := c.Now()
	for range 4 {
		r.Refused("orders", "10.0.0.1", fleet.WrongToken)
		r.Refused("orders", "10.0.0.2", fleet.WrongToken)
		c.Advance(15 * time.Second)
	}
	last := c.Now().Add(-15 * time.Second)
	want := []fleet.Refusal{
		{Node: "orders", Address: "10.0.0.1", Reason: fleet.WrongToken, Since: start, Last: last, Count: 4},
		{Node: "orders", Address: "10.0.0.2", Reason: fleet.WrongToken, Since: start, Last: last, Count: 4},
	}
	if got := r.Of("orders"); !slices.Equal(got, want) || !slices.Equal(r.All(), want) || len(r.Of("other")) != 0 {
		t.Errorf("Of = %+v, want %+v", got, want)
	}
	if len(heard) != 1 || heard[0].Node != "orders" {
		t.Errorf("listeners heard %+v, want the first only", heard)
	}
	r.Accepted("orders", "10.0.0.1")
	if got := r.Of("orders"); !slices.Equal(got, want[1:]) {
		t.Errorf("after one was accepted: %+v", got)
	}
	r.Refused("orders", "10.0.0.2", fleet.NodeDisabled)
	if got := r.Of("orders"); len(got) != 1 || got[0].Since.Equal(start) || got[0].Count != 1 || got[0].Reason != fleet.NodeDisabled {
		t.Errorf("another reason began at another time: %+v", got)
	}
	c.Advance(10*time.Minute + time.Second)
	if got := r.All(); len(got) != 0 {
		t.Errorf("after ten silent minutes: %+v", got)
	}
	r.Refused("orders", "10.0.0.2", fleet.WrongToken)
	if got := r.Of("orders"); len(got) != 1 || !got[0].Since.Equal(c.Now()) || len(heard) != 2 {
		t.Errorf("it began anew: %+v, listeners heard %d times", got, len(heard))
	}
}

// TestRefusalsAreBounded: who is refused chooses name and address as he likes.
func TestRefusalsAreBounded(t *testing.T) {
	c := newClock()
	r := fleet.NewRefusals(c.Now)
	r.Refused("stock", "10.0.0.1", fleet.WrongToken)
	for i := range 3000 {
		c.Advance(time.Millisecond)
		r.Refused(fmt.Sprint("made-up-", i), "10.0.0.9", fleet.NoSuchNode)
		r.Refused("orders", fmt.Sprint("10.1.", i/250, ".", i%250), fleet.WrongToken)
	}
	if len(r.Of("stock")) != 1 {
		t.Error("made-up names pushed out a node that exists")
	}
	if got := r.Of("orders"); len(got) != 20 || got[19].Address != "10.1.11.249" {
		t.Errorf("%d addresses of one node, want the 20 newest", len(got))
	}
	if got := len(r.All()); got != 121 {
		t.Errorf("%d refusals in all, want 100 of made-up names, 20 and 1", got)
	}
	for i := range 3000 {
		r.Refused(fmt.Sprint("known-", i), "10.0.0.9", fleet.WrongToken)
	}
	if got := len(r.All()); got > 1000 {
		t.Errorf("%d refusals in all, want 1000 at most", got)
	}
}

// TestMadeUpNamesRepeatNoNews: who asks for names without end does not have an old refusal told again and again, which would
// push everything else out of a node's history.
func TestMadeUpNamesRepeatNoNews(t *testing.T) {
	c := newClock()
	r := fleet.NewRefusals(c.Now)
	var heard []fleet.Refusal
	r.Listen(func(f fleet.Refusal) { heard = append(heard, f) })
	for i := range 3000 {
		r.Refused(fmt.Sprint("nosuch-", i), "10.0.0.9", fleet.NoSuchNode)
		if i%500 == 0 {
			r.Refused("orders", "10.0.0.9", fleet.WrongToken)
		}
	}
	if len(heard) != 1 || heard[0].Node != "orders" {
		t.Errorf("listeners heard %d times, want once of orders", len(heard))
	}
}
