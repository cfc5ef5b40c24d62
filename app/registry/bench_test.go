package registry_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"eruptcloud/app/registry"
)

// fleet is a registry with 10,000 instances of 200 nodes.
func fleet(b *testing.B) *registry.Registry {
	b.Helper()
	r := registry.New(registry.Options{Store: newStore(), Lease: terms})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	if err := r.WaitReady(ctx); err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if _, _, err := r.Register(ctx, member(i)); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

func member(i int) registry.Instance {
	return describe(fmt.Sprintf("node-%d", i%200), fmt.Sprintf("id%d", i), fmt.Sprintf("http://10.%d.%d.%d:8080", i>>16, i>>8&255, i&255))
}

// BenchmarkHeartbeat is one beat that says nothing new among 10,000 instances: budget 10 µs without the store's round trip,
// since 667 of them a second may cost a fifth of a core together with Redis (56 µs).
func BenchmarkHeartbeat(b *testing.B) {
	r := fleet(b)
	beats := make([]registry.Instance, 10_000)
	for i := range beats {
		beats[i] = member(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, added, err := r.Register(b.Context(), beats[i%len(beats)]); err != nil || added {
			b.Fatal(added, err)
		}
		i++
	}
}

// BenchmarkChange is a registration that changes something, own entry applied: budget 100 µs without the store.
func BenchmarkChange(b *testing.B) {
	r := fleet(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		in := member(i % 10_000)
		in.Node.Version = fmt.Sprint(i)
		if _, _, err := r.Register(b.Context(), in); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkNode is what each proxied request looks up: budget 100 ns, no allocation.
func BenchmarkNode(b *testing.B) {
	v := fleet(b).View()
	b.ReportAllocs()
	for b.Loop() {
		if len(v.Node("node-77")) != 50 {
			b.Fatal("not all instances")
		}
	}
}

// BenchmarkByLocation looks up whose a location is: budget 150 ns, no allocation but the copy of the instance.
func BenchmarkByLocation(b *testing.B) {
	v := fleet(b).View()
	in := v.Node("node-77")[31]
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := v.ByLocation("node-77", in.Locations[0]); !ok {
			b.Fatal("not found")
		}
	}
}

// BenchmarkReplace is a snapshot of 10,000 instances that a replica takes over: budget 100 ms.
func BenchmarkReplace(b *testing.B) {
	all := fleet(b).View().All()
	t := registry.NewTable(time.Now)
	b.ReportAllocs()
	for b.Loop() {
		t.Replace(all, 20_000, false)
	}
}
