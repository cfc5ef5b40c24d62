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
	out := instanceState{kind: views.StateHeld}
	states := []*nodeState{
		{node: fleet.Node{Name: "crm"}, kind: views.StateUp, up: 1, instances: []instanceState{up("a"), out}},
		{node: fleet.Node{Name: "all"}, kind: views.StateHeld, instances: []instanceState{out}},
		{node: fleet.Node{Name: "well"}, kind: views.StateUp, up: 1, instances: []instanceState{up("b")}},
	}
	if got := fleetOf(states).Partly; !slices.Equal(got, []views.PartlyHeld{{Node: "crm", Held: 1, Total: 2}}) {
		t.Errorf("partly held are %v, want crm with 1 of 2", got)
	}
}
