package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"eruptcloud/app/cluster"
	"eruptcloud/app/testbed"
)

// wantStanding compares what a replica's metrics say.
func wantStanding(t *testing.T, when string, r *prometheus.Registry, leads, replicas int) {
	t.Helper()
	if err := standing(r, leads, replicas); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

func standing(r *prometheus.Registry, leads, replicas int) error {
	want := fmt.Sprintf(`# HELP ec_leader 1 while this replica leads, else 0.
# TYPE ec_leader gauge
ec_leader %d
# HELP ec_replicas Live replicas that this one knows of, itself included.
# TYPE ec_replicas gauge
ec_replicas %d
`, leads, replicas)
	return testutil.GatherAndCompare(r, strings.NewReader(want))
}

func TestTheOnlyReplicaLeads(t *testing.T) {
	r := prometheus.NewRegistry()
	cluster.Observe(r, cluster.NewSolo("a"))
	wantStanding(t, "alone", r, 1, 1)
}

func TestMetricsTellWhoLeads(t *testing.T) {
	url := testbed.Redis(t)
	first := cluster.NewRedis(dial(t, url), "test:", "a")
	cluster.Hurry(first)
	r := prometheus.NewRegistry()
	cluster.Observe(r, first)
	wantStanding(t, "before it runs", r, 0, 0)
	stop := start(t, first.Run)
	eventually(t, "it leads", func() bool { return standing(r, 1, 1) == nil })
	running(t, dial(t, url), "b")
	eventually(t, "it knows of the other", func() bool { return standing(r, 1, 2) == nil })
	stop()
	wantStanding(t, "after it left", r, 0, 0)
}
