package console

import (
	"slices"
	"testing"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/views"
)

func TestHeadlineKnowsOfHeldInstancesOfNodesThatAreUp(t *testing.T) {
	up := func(location string) instanceState {
		return instanceState{Instance: registry.Instance{Locations: []string{location}}, kind: views.StateUp}
	}
	out, going := instanceState{kind: views.StateHeld}, instanceState{kind: views.StateDraining}
	states := []*nodeState{
		{node: fleet.Node{Name: "crm"}, kind: views.StateUp, up: 1, instances: []instanceState{up("a"), out}},
		{node: fleet.Node{Name: "all"}, kind: views.StateHeld, instances: []instanceState{out}},
		{node: fleet.Node{Name: "well"}, kind: views.StateUp, up: 1, instances: []instanceState{up("b")}},
	}
	states = append(states, &nodeState{node: fleet.Node{Name: "pay"}, kind: views.StateUp, up: 1, leaves: true, instances: []instanceState{up("c"), going, going}})
	if got := fleetOf(states).Leaving; !slices.Equal(got, []views.PartlyOut{{Node: "pay", Out: 2, Total: 3}}) {
		t.Errorf("partly draining are %v, want pay with 2 of 3", got)
	}
	if got := fleetOf(states).Partly; !slices.Equal(got, []views.PartlyOut{{Node: "crm", Out: 1, Total: 2}}) {
		t.Errorf("partly held are %v, want crm with 1 of 2", got)
	}
}
