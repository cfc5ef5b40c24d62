package cluster

import "github.com/prometheus/client_golang/prometheus"

// Standing is what the metrics tell of a replica.
type Standing interface {
	Leads() bool
	// Replicas returns the ids of the live replicas.
	Replicas() []string
}

// Observe registers ec_leader, whose sum over all replicas is 1 unless leadership is in dispute or vacant, and ec_replicas.
func Observe(r prometheus.Registerer, s Standing) {
	r.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ec_leader", Help: "1 while this replica leads, else 0.",
		}, func() float64 {
			if s.Leads() {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ec_replicas", Help: "Live replicas that this one knows of, itself included.",
		}, func() float64 { return float64(len(s.Replicas())) }),
	)
}
