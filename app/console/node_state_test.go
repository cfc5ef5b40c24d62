package console

import (
	"testing"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/views"
)

func TestJudge(t *testing.T) { // S7, S8, S16
	seen := fleet.Node{Name: "n", Enabled: true, FirstSeen: now}
	in := func(id string, status registry.Status, locations ...string) registry.Instance {
		return registry.Instance{Key: registry.Key{App: "N", ID: id}, NodeName: "n", Status: status, Locations: locations}
	}
	heldAt := func(locations ...string) held {
		return func(_, l string) (fleet.Hold, bool) {
			for _, h := range locations {
				if h == l {
					return fleet.Hold{Location: l, Account: "chen", Reason: "disk"}, true
				}
			}
			return fleet.Hold{}, false
		}
	}
	disabled, fresh := seen, seen
	disabled.Enabled = false
	fresh.FirstSeen = time.Time{}
	tests := map[string]struct {
		node      fleet.Node
		instances []registry.Instance
		held      held
		want      views.StateKind
		up        int
		verdict   string
	}{
		"one up is up":                     {seen, []registry.Instance{in("a", registry.Up, "l1"), in("b", registry.OutOfService, "l2")}, heldAt(), views.StateUp, 1, "1 of 2 draining"},
		"up beside a held one":             {seen, []registry.Instance{in("a", registry.Up, "l1"), in("b", registry.Up, "l2")}, heldAt("l2"), views.StateUp, 1, "1 of 2 held by chen: disk"},
		"all held":                         {seen, []registry.Instance{in("a", registry.Up, "l1")}, heldAt("l1"), views.StateHeld, 0, "1 of 1 held by chen: disk"},
		"one of two addresses held is up":  {seen, []registry.Instance{in("a", registry.Up, "l1", "l2")}, heldAt("l1"), views.StateUp, 1, ""},
		"all draining":                     {seen, []registry.Instance{in("a", registry.OutOfService, "l1")}, heldAt(), views.StateDraining, 0, "1 of 1 draining"},
		"draining and held is held":        {seen, []registry.Instance{in("a", registry.OutOfService, "l1"), in("b", registry.Up, "l2")}, heldAt("l2"), views.StateHeld, 0, "1 of 2 held by chen: disk"},
		"draining outweighs its own hold":  {seen, []registry.Instance{in("a", registry.OutOfService, "l1")}, heldAt("l1"), views.StateDraining, 0, "1 of 1 draining"},
		"seen and gone":                    {seen, nil, heldAt(), views.StateOffline, 0, "No instance is registered"},
		"never seen":                       {fresh, nil, heldAt(), views.StateNever, 0, "Created never, nothing has registered yet"},
		"disabled, whatever is registered": {disabled, []registry.Instance{in("a", registry.Up, "l1")}, heldAt(), views.StateDisabled, 1, "Registrations are refused, nothing is routed to it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := judge(tt.node, tt.instances, orders{held: tt.held}, nil)
			ctx := views.WithFrame(t.Context(), views.Frame{Lang: "en", Now: now})
			if got := s.verdict().Text(ctx); s.kind != tt.want || s.up != tt.up || got != tt.verdict {
				t.Errorf("judge = %s, %d up, %q; want %s, %d up, %q", s.kind, s.up, got, tt.want, tt.up, tt.verdict)
			}
		})
	}
}

func TestDepartureNamesTheReason(t *testing.T) {
	w := newWorld()
	w.node(fleet.Node{Name: "Shop", Enabled: true, FirstSeen: now})
	w.instance("Shop", "a", "http://10.0.0.1:1", "1")
	for reason, want := range map[registry.Reason]string{
		registry.Leave: "signed off", registry.Expiry: "its lease ended", registry.Patrol: "survival check", registry.Failover: "refused connections", registry.Admin: "removed by an admin",
	} {
		change := registry.Change{Seq: 9, At: now.Add(-time.Minute), Action: registry.Deleted, Reason: reason, In: w.instances[0]}
		table := registry.NewTable(func() time.Time { return now })
		table.Replace(w.instances, 1, false)
		table.Apply([]registry.Change{change})
		s := judgeAll(w.nodes, table.View(), fakeHolds{w}.Held)[0]
		ctx := views.WithFrame(t.Context(), views.Frame{Lang: "en", Now: now})
		if got := s.verdict().Text(ctx); s.kind != views.StateOffline || !includes(got, want) || !includes(got, "1 min ago") {
			t.Errorf("after %s: %s, %q; want offline with %q", reason, s.kind, got, want)
		}
	}
}
