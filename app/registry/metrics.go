package registry

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	removals *prometheus.CounterVec
	beats    *prometheus.CounterVec
}

// newMetrics registers the registry's numbers with reg; a nil reg counts for nobody.
func newMetrics(reg prometheus.Registerer, r *Registry) *metrics {
	m := &metrics{
		removals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ec_registry_removals_total", Help: "Instances that this replica removed, by reason.",
		}, []string{"reason"}),
		beats: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ec_registry_beats_total", Help: "Registrations of nodes that reached the registry, by what came of them.",
		}, []string{"result"}),
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.removals, m.beats, &instanceGauge{r},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ec_registry_follow_lag_seconds", Help: "Time since the store last answered this replica's follower.",
		}, func() float64 { return r.lag() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ec_registry_preserved", Help: "1 while the brake refuses removals because too much fails at once.",
		}, func() float64 {
			if r.brake.State().Holding {
				return 1
			}
			return 0
		}))
	return m
}

func (m *metrics) removed(why Reason) { m.removals.WithLabelValues(string(why)).Inc() }
func (m *metrics) beat(result string) { m.beats.WithLabelValues(result).Inc() }

func (r *Registry) lag() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.health.heard.IsZero() {
		return 0
	}
	return max(0, r.clock().Sub(r.health.heard).Seconds())
}

// instanceGauge counts the table when it is asked, so that no change has to.
type instanceGauge struct{ r *Registry }

var instancesDesc = prometheus.NewDesc("ec_registry_instances", "Instances in this replica's table.", []string{"origin", "status"}, nil)

func (g *instanceGauge) Describe(ch chan<- *prometheus.Desc) { ch <- instancesDesc }

func (g *instanceGauge) Collect(ch chan<- prometheus.Metric) {
	type label struct {
		origin Origin
		status Status
	}
	counts := map[label]int{}
	for _, in := range g.r.View().All() {
		counts[label{in.Origin, in.Status}]++
	}
	for l, n := range counts {
		ch <- prometheus.MustNewConstMetric(instancesDesc, prometheus.GaugeValue, float64(n), string(l.origin), string(l.status))
	}
}
