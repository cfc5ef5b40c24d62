package reach

import (
	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/probe"
)

// newSeconds counts probes by kind and by what came of them: ok, the layer of a failure, or unsure.
func newSeconds(reg prometheus.Registerer) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ec_probe_seconds", Help: "How long probes took.", Buckets: []float64{.001, .005, .02, .1, .5, 1, 2, 5},
	}, []string{"kind", "result"})
	if reg != nil {
		reg.MustRegister(h)
	}
	return h
}

func resultLabel(r probe.Result) string {
	switch {
	case r.OK:
		return "ok"
	case r.Unsure || r.Layer == "":
		return "unsure"
	}
	return r.Layer
}
