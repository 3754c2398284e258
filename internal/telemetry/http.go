package telemetry

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTP is the part of Metrics that one surface reports to.
type HTTP struct {
	m       *Metrics
	surface string
	latency prometheus.Observer
	byCode  [500]atomic.Pointer[prometheus.Counter] // status - 100
	refused kept[string, prometheus.Counter]
}

// HTTP returns the reporter of one surface. It keeps its counters at hand,
// because looking labels up costs more than counting.
func (m *Metrics) HTTP(surface string) *HTTP {
	h := &HTTP{m: m, surface: surface, latency: m.latency.WithLabelValues(surface)}
	h.refused.create = func(reason string) prometheus.Counter { return m.refused.WithLabelValues(surface, reason) }
	return h
}

// Done records one answered request.
func (h *HTTP) Done(status int, took time.Duration) {
	h.latency.Observe(took.Seconds())
	if status < 100 || status > 599 {
		status = 599
	}
	slot := &h.byCode[status-100]
	c := slot.Load()
	if c == nil {
		made := h.m.requests.WithLabelValues(h.surface, strconv.Itoa(status))
		c = &made
		slot.Store(c)
	}
	(*c).Inc()
}

// Refused records that a request was answered with an error. The reason is its
// code; never anything that a caller can make up.
func (h *HTTP) Refused(reason string) { h.refused.get(reason).Inc() }
