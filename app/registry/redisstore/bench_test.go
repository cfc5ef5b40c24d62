package redisstore_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/testbed"
)

// large is an instance of about 0.8 KB as JSON.
func large(i int) registry.Instance {
	in := order(fmt.Sprint(i), fmt.Sprintf("http://10.0.%d.%d:8080", i>>8, i&255))
	in.App = fmt.Sprintf("NODE-%d", i%200)
	in.Action = registry.Added
	for e := range 30 {
		in.Node.Erupts = append(in.Node.Erupts, fmt.Sprintf("EruptClass%02d", e))
	}
	in.Node.Extra = map[string]json.RawMessage{"note": json.RawMessage(`"some field of a newer node"`)}
	return in
}

// BenchmarkRenew is a heartbeat with its node entry's time to live: budget 150 µs, Redis included.
func BenchmarkRenew(b *testing.B) {
	client := open(b, testbed.Redis(b))
	s, e := redisstore.New(client, "bench:"), redisstore.NewNodeEntries(redisstore.EntryOptions{Client: client, Prefix: "bench:", TTL: time.Minute})
	in := large(0)
	if _, err := s.Put(b.Context(), in, time.Now().Add(time.Minute)); err != nil {
		b.Fatal(err)
	}
	client.Set(b.Context(), "bench:node:order-service", "{}", time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Renew(b.Context(), in.Key, time.Now().Add(time.Minute)); err != nil {
			b.Fatal(err)
		}
		if err := e.Touch(b.Context(), "order-service"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPut is a changed instance of 0.8 KB: budget 250 µs, Redis included.
func BenchmarkPut(b *testing.B) {
	s := redisstore.New(open(b, testbed.Redis(b)), "bench:")
	in := large(0)
	b.ReportAllocs()
	for b.Loop() {
		seq, err := s.Put(b.Context(), in, time.Now().Add(time.Minute))
		if err != nil {
			b.Fatal(err)
		}
		in.Rev = seq
	}
}

// BenchmarkSnapshot is a replica's start among 10,000 instances: budget 500 ms.
func BenchmarkSnapshot(b *testing.B) {
	s := redisstore.New(open(b, testbed.Redis(b)), "bench:")
	for i := range 10_000 {
		if _, err := s.Put(b.Context(), large(i), time.Now().Add(time.Minute)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if all, _, err := s.Snapshot(b.Context()); err != nil || len(all) != 10_000 {
			b.Fatal(len(all), err)
		}
	}
}
