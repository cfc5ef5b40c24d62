package telemetry

import (
	"context"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"eruptcloud/app/loop"
)

// NewMetrics returns a registry of its own with the process's and the runtime's metrics: nothing is global, so servers in
// one test process do not meet.
func NewMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// OpsHandler serves /metrics and /debug/pprof. It belongs on a listener that only operators reach.
func OpsHandler(g prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{Timeout: 10 * time.Second}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

type loops struct {
	seconds *prometheus.HistogramVec
	success *prometheus.GaugeVec
	failed  *prometheus.CounterVec
}

// Loops returns an observer that counts the rounds of all loops: ec_loop_seconds, ec_loop_failures_total and
// ec_loop_last_success_timestamp_seconds by loop.
func Loops(r prometheus.Registerer) loop.Observer {
	l := &loops{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ec_loop_seconds", Help: "Duration of one round.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"loop"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ec_loop_last_success_timestamp_seconds", Help: "When a round last succeeded, Unix time.",
		}, []string{"loop"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ec_loop_failures_total", Help: "Rounds that failed or panicked.",
		}, []string{"loop"}),
	}
	r.MustRegister(l.seconds, l.success, l.failed)
	return l
}

// Round implements loop.Observer.
func (l *loops) Round(name string, took time.Duration, err error) {
	l.seconds.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		l.failed.WithLabelValues(name).Inc()
		return
	}
	l.success.WithLabelValues(name).SetToCurrentTime()
}

var _ loop.Observer = (*loops)(nil)

// LoopContext returns ctx whose loops report to r.
func LoopContext(ctx context.Context, r prometheus.Registerer) context.Context {
	return loop.WithObserver(ctx, Loops(r))
}
