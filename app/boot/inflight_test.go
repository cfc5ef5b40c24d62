package boot

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/cluster"
	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/proxy"
)

type openAt map[string]proxy.InFlight

func (o openAt) InFlightAt(_, location string) proxy.InFlight { return o[location] }

type oneOf struct {
	id   string
	live []string
}

func (m oneOf) ID() string         { return m.id }
func (m oneOf) Replicas() []string { return m.live }

// tableOf is a view of instances of crm, one at each location.
func tableOf(locations ...string) *registry.View {
	t := registry.NewTable(time.Now)
	var all []registry.Instance
	for _, l := range locations {
		all = append(all, registry.Instance{
			Key: registry.Key{App: "CRM", ID: l}, NodeName: "crm", Origin: registry.OriginNode, Status: registry.Up, Rev: 1,
			Locations: []string{l}, Node: &registry.NodeDetail{},
		})
	}
	t.Replace(all, 1, false)
	return t.View()
}

func TestInFlightOverReplicas(t *testing.T) { // D12
	synctest.Test(t, func(t *testing.T) {
		bus, view := cluster.NewSolo("bus"), tableOf("http://a", "http://b")
		drains := someDrains{"http://a": {Reason: "update"}}
		live := []string{"r1", "r2"}
		start := time.Now()
		one := &loads{
			open: openAt{"http://a": {Count: 1, Oldest: start}}, drains: drains, view: func() *registry.View { return view },
			member: oneOf{"r1", live}, bus: bus, now: time.Now,
		}
		two := &loads{
			open:   openAt{"http://a": {Count: 2, Streams: 1, Oldest: start.Add(-time.Minute)}, "http://b": {Count: 9}},
			drains: drains, view: func() *registry.View { return view }, member: oneOf{"r2", live}, bus: bus, now: time.Now,
		}
		if got := one.InFlight("crm", []string{"http://a"}); got.Known || got.Count != 1 {
			t.Errorf("before the other has told: %+v, want what is known and Known false", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 3)
		go func() { done <- one.Run(ctx) }()
		ended, stopTwo := context.WithCancel(ctx)
		go func() { done <- two.Run(ended) }()
		time.Sleep(2*time.Second + time.Millisecond)
		want := fleet.InFlight{Count: 3, Streams: 1, Oldest: start.Add(-time.Minute), Known: true}
		if got := one.InFlight("crm", []string{"http://a"}); !got.Oldest.Round(time.Second).Equal(want.Oldest.Round(time.Second)) || got.Count != want.Count || got.Streams != 1 || !got.Known {
			t.Errorf("with both: %+v, want %+v", got, want)
		}
		if got := two.InFlight("crm", []string{"http://a"}); got.Count != 3 || !got.Known {
			t.Errorf("the other one says %+v, want the same", got)
		}
		if got := one.InFlight("crm", []string{"http://b"}); got.Known || got.Count != 0 {
			t.Errorf("of an instance that does not drain: %+v, want it unknown", got)
		}
		stopTwo()
		time.Sleep(believedFor + tellInterval)
		if got := one.InFlight("crm", []string{"http://a"}); got.Known || got.Count != 1 {
			t.Errorf("after the other fell silent: %+v, want it unknown", got)
		}
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestInFlightAlone(t *testing.T) {
	solo := cluster.NewSolo("only")
	l := &loads{open: openAt{"http://a": {Count: 2}, "http://b": {Count: 1}}, drains: someDrains{}, member: solo, bus: solo, now: time.Now}
	if got := l.InFlight("crm", []string{"http://a", "http://b"}); got.Count != 3 || !got.Known {
		t.Errorf("alone: %+v, want 3, known", got)
	}
	l.member = oneOf{id: "r1"}
	if got := l.InFlight("crm", []string{"http://a"}); got.Known {
		t.Errorf("before the first sign of life: %+v, want it unknown", got)
	}
}

func TestInFlightTellsOnlyOfWhatDrains(t *testing.T) {
	view := tableOf("http://a", "http://b", "http://c")
	all := slices.Clone(view.All())
	all[2].Status = registry.OutOfService // said goodbye by its own word
	table := registry.NewTable(time.Now)
	table.Replace(all, 2, false)
	l := &loads{open: openAt{}, drains: someDrains{"http://b": {}}, view: table.View, now: time.Now}
	got := l.draining()
	if len(got) != 2 || got[0].Location != "http://b" || got[1].Location != "http://c" {
		t.Errorf("told %+v, want the drained one and the one that leaves, both with nothing", got)
	}
}

func TestInFlightHearsNonsense(t *testing.T) {
	l := &loads{member: oneOf{id: "r1"}, now: time.Now}
	for _, raw := range [][]byte{nil, {}, []byte("{"), []byte(`{"r":"r1"}`), []byte(`{"r":""}`)} {
		l.hear(raw)
	}
	if len(l.told) != 0 {
		t.Errorf("heard %v", l.told)
	}
}

// lateDrains are drains that begin while others look.
type lateDrains struct{ now atomic.Pointer[someDrains] }

func (d *lateDrains) Draining(node, instance string) (fleet.Drain, bool) {
	if all := d.now.Load(); all != nil {
		return all.Draining(node, instance)
	}
	return fleet.Drain{}, false
}

// TestAReplicaThatJustCame: the others see a new replica only with its first sign of life and theirs; what it has open by then
// counts, and nothing is safe to stop before it has told (D12).
func TestAReplicaThatJustCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, view := cluster.NewSolo("bus"), tableOf("http://a")
		drains := &lateDrains{}
		one := &loads{open: openAt{}, drains: drains, view: func() *registry.View { return view }, member: oneOf{"r1", []string{"r1"}}, bus: bus, now: time.Now}
		two := &loads{
			open: openAt{"http://a": {Count: 1, Oldest: time.Now()}}, drains: drains, view: func() *registry.View { return view },
			member: oneOf{"r2", []string{"r1", "r2"}}, bus: bus, now: time.Now,
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- one.Run(ctx) }()
		synctest.Wait()
		if got := one.InFlight("crm", []string{"http://a"}); !got.Known {
			t.Errorf("alone: %+v", got)
		}
		go func() { done <- two.Run(ctx) }()
		synctest.Wait()
		drains.now.Store(&someDrains{"http://a": {Reason: "update"}})
		if got := one.InFlight("crm", []string{"http://a"}); got.Known {
			t.Errorf("the new one is there, and has not told: %+v, want it unknown", got)
		}
		time.Sleep(tellInterval + time.Millisecond)
		if got := one.InFlight("crm", []string{"http://a"}); !got.Known || got.Count != 1 {
			t.Errorf("the new one has told: %+v, want its request", got)
		}
		cancel()
		<-done
		<-done
	})
}
