package nodeapi

import (
	"fmt"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/fault"
)

type metrics struct{ beats, refused *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{beats: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "ec", Name: "heartbeats_total", Help: "Registrations of nodes by result: ok or the error code of the refusal.",
	}, []string{"result"}), refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "ec", Name: "node_questions_refused_total",
		Help: "Questions of nodes about users (power, userinfo) that got the answer which grants nothing, by error code; too_many: not even looked into.",
	}, []string{"call", "code"})}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.beats, m.refused} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register what counts calls of nodes: %w", err)
		}
	}
	return m, nil
}

// counted counts how registrations end.
func (a *API) counted(h func(*gin.Context) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		err := h(c)
		result := "ok"
		if err != nil {
			result = string(fault.CodeOf(err))
		}
		a.metrics.beats.WithLabelValues(result).Inc()
		return err
	}
}
