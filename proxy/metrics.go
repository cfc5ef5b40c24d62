package proxy

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts. Node names are labels only once a profile of that name is known, so that nobody can make labels.
type metrics struct {
	requests  *prometheus.CounterVec
	seconds   prometheus.Histogram
	failovers *prometheus.CounterVec
	streams   prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ec_proxy_requests_total", Help: "Requests for nodes by node and answer; cut: the node broke off, 499: the client left.",
		}, []string{"node", "code"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ec_proxy_seconds", Help: "Time until the answer of a node began, failed attempts included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}),
		failovers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ec_proxy_failovers_total", Help: "Requests that went on to another location because one could not be connected to.",
		}, []string{"node"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ec_proxy_streams", Help: "Open answers of unknown length and upgraded connections.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.failovers, m.streams} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// count counts one request. node is empty while no known one was named.
func (m *metrics) count(node, code string) { m.requests.WithLabelValues(node, code).Inc() }

func codeOf(status int) string {
	if status == http.StatusOK {
		return "200"
	}
	return strconv.Itoa(status)
}

// failedCodes are the label values of failures: the statuses that the server gives them.
var failedCodes = map[Kind]string{
	Invalid: "400", Unauthenticated: "401", Forbidden: "403", NotFound: "404", MethodNotAllowed: "405", TooLarge: "413",
	ClientGone: "499", Broken: "500", UpstreamUnreachable: "502", NodeNotReady: "503", UpstreamTimeout: "504",
}

func failedCode(err error) string {
	if code, ok := failedCodes[KindOf(err)]; ok {
		return code
	}
	return "500"
}
