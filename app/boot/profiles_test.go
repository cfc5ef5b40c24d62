package boot

import (
	"context"
	"testing"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

func TestInstancesOfADisabledNodeLeave(t *testing.T) { // erupt-wire 9, row 36
	r := runningRegistry(t)
	nodes := &someNodes{node: fleet.Node{Name: "crm", Enabled: true}}
	l := newLeavers(nodes, r)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	gone := make(chan struct{}, 16)
	r.Listen(func([]registry.Change) { gone <- struct{}{} })
	l.check(ctx, "crm")
	if n := len(r.View().Node("crm")); n != 2 {
		t.Fatalf("%d instances of an enabled node are left, want both", n)
	}
	nodes.node.Name = "other" // deleted
	l.hear("group", "crm")
	l.hear("node", "crm")
	go func() { done <- l.Run(ctx) }()
	for len(r.View().Node("crm")) > 0 {
		<-gone
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
}
