package registry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/registry"
)

var (
	noon  = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Minute)
)

func at(id string, claimed time.Time, locations ...string) registry.Instance {
	in := describe("order", id, locations...)
	in.App, in.Claimed, in.Node.Addresses = "ORDER", claimed, locations
	return in
}

func TestResolve(t *testing.T) {
	tests := map[string]struct {
		in     registry.Instance
		others []registry.Instance
		kept   []string
		lost   map[string]string   // location → holder
		losers map[string][]string // id → what is left
	}{
		"nobody else":              {at("a", noon, locA, locB), nil, []string{locA, locB}, nil, nil},
		"others elsewhere":         {at("a", noon, locA), []registry.Instance{at("b", noon, locB)}, []string{locA}, nil, nil},
		"itself":                   {at("a", later, locA), []registry.Instance{at("a", noon, locA)}, []string{locA}, nil, nil},
		"an older claim loses":     {at("a", later, locA), []registry.Instance{at("b", noon, locA)}, []string{locA}, nil, map[string][]string{"b": {}}},
		"a later claim stays":      {at("a", noon, locA), []registry.Instance{at("b", later, locA)}, nil, map[string]string{locA: "b"}, nil},
		"equal times: the id":      {at("a", noon, locA), []registry.Instance{at("b", noon, locA)}, nil, map[string]string{locA: "b"}, nil},
		"equal times: the other":   {at("b", noon, locA), []registry.Instance{at("a", noon, locA)}, []string{locA}, nil, map[string][]string{"a": {}}},
		"one of two each":          {at("a", noon, locA, locB), []registry.Instance{at("b", later, locA)}, []string{locB}, map[string]string{locA: "b"}, nil},
		"an older one keeps rest":  {at("a", later, locA), []registry.Instance{at("b", noon, locA, locB)}, []string{locA}, nil, map[string][]string{"b": {locB}}},
		"one wins, one loses":      {at("b", noon, locA, locB), []registry.Instance{at("a", noon, locA), at("c", later, locB)}, []string{locA}, map[string]string{locB: "c"}, map[string][]string{"a": {}}},
		"two older ones both lose": {at("c", later, locA, locB), []registry.Instance{at("a", noon, locA), at("b", noon, locB)}, []string{locA, locB}, nil, map[string][]string{"a": {}, "b": {}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := registry.Resolve(tt.in, tt.others)
			lost, losers := map[string]string{}, map[string][]string{}
			for l, k := range c.Lost {
				lost[l] = k.ID
			}
			for _, in := range c.Losers {
				losers[in.ID] = in.Locations
			}
			if tt.lost == nil {
				tt.lost = map[string]string{}
			}
			if tt.losers == nil {
				tt.losers = map[string][]string{}
			}
			if d := cmp.Diff(tt.kept, c.Kept) + cmp.Diff(tt.lost, lost) + cmp.Diff(tt.losers, losers); d != "" {
				t.Errorf("Resolve (-want +got):\n%s", d)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	old := at("a", noon, locA)
	old.Rev, old.Status, old.Registered, old.Up, old.Action = 7, registry.Up, noon, noon, registry.Added
	draining, lost := old, old
	draining.Status, lost.Unconfirmed = registry.OutOfService, true
	now := later.Add(time.Hour)
	type told struct {
		Rev                     registry.Seq
		Action                  registry.Action
		Status                  registry.Status
		Registered, Up, Claimed time.Time
		Moved                   bool
	}
	tests := map[string]struct {
		old   registry.Instance
		found bool
		in    registry.Instance
		want  told
	}{
		"nothing stored":                   {registry.Instance{}, false, at("a", now, locA), told{0, registry.Added, registry.Up, now, now, now, false}},
		"something garbled":                {registry.Instance{Rev: 3}, false, at("a", now, locA), told{3, registry.Added, registry.Up, now, now, now, false}},
		"the same addresses":               {old, true, at("a", now, locA), told{7, registry.Modified, registry.Up, noon, noon, noon, false}},
		"one more address":                 {old, true, at("a", now, locA, locB), told{7, registry.Modified, registry.Up, noon, noon, now, false}},
		"other addresses":                  {old, true, at("a", now, locB), told{7, registry.Modified, registry.Up, noon, noon, now, true}},
		"a late beat while draining":       {draining, true, at("a", now, locA), told{7, registry.Modified, registry.OutOfService, noon, now, noon, false}},
		"a new start elsewhere meanwhile":  {draining, true, at("a", now, locB), told{7, registry.Modified, registry.Up, noon, now, now, true}},
		"lost by the store, still beating": {lost, true, at("a", now, locA), told{0, registry.Added, registry.Up, noon, noon, noon, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := registry.Merge(tt.old, tt.found, tt.in, now)
			got := told{m.Rev, m.Action, m.Status, m.Registered, m.Up, m.Claimed, m.Moved != nil}
			if got != tt.want || m.Unconfirmed || !m.Updated.Equal(now) {
				t.Errorf("Merge = %+v, want %+v", got, tt.want)
			}
		})
	}
}
