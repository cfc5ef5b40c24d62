package access

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	logins  *prometheus.CounterVec
	dropped prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ec_logins_total", Help: "Attempts to log in by result: ok, half (the second factor is asked for), wrong, refused, locked, failed.",
		}, []string{"result"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ec_audit_dropped_total", Help: "Entries of the audit trail that were not written: queue full or refused by the database.",
		}),
	}
	if r != nil {
		r.MustRegister(m.logins, m.dropped)
	}
	return m
}
