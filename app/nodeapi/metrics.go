package nodeapi

import (
	"fmt"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/fault"
)

type metrics struct{ beats *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{beats: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "ec", Name: "heartbeats_total", Help: "Registrations of nodes by result: ok or the error code of the refusal.",
	}, []string{"result"})}
	if reg == nil {
		return m, nil
	}
	if err := reg.Register(m.beats); err != nil {
		return nil, fmt.Errorf("register heartbeats_total: %w", err)
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
