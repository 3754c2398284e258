package telemetry

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is everything BeeOS counts. Its methods take plain values, so that
// the packages that do the work report through a func field and never see
// Prometheus.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	calls    *prometheus.HistogramVec
	batch    prometheus.Histogram
	commit   prometheus.Histogram
}

// NewMetrics returns metrics on a registry of their own, so that two
// instances in one process (tests, mostly) do not meet.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "beeos_http_requests_total",
			Help: "HTTP requests by surface and status code.",
		}, []string{"surface", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "beeos_http_request_seconds",
			Help:    "Time to answer an HTTP request, streams included.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2, 10, 60, 300},
		}, []string{"surface"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "beeos_call_seconds",
			Help:    "Agent calls by surface and outcome: ok, agent_error, or an error code.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2, 10, 60, 300},
		}, []string{"surface", "outcome"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "beeos_commit_batch_size",
			Help:    "Writes that shared one ledger commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "beeos_commit_seconds",
			Help:    "Duration of one ledger commit.",
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .1, .5, 2},
		}),
	}
	m.registry.MustRegister(m.requests, m.latency, m.calls, m.batch, m.commit,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Call records one finished agent call. Outcome is ok, agent_error, or the
// code of the error; never anything that a caller can make up.
func (m *Metrics) Call(surface, outcome string, took time.Duration) {
	m.calls.WithLabelValues(surface, outcome).Observe(took.Seconds())
}

// Commit records one ledger commit of n writes.
func (m *Metrics) Commit(n int, took time.Duration) {
	m.batch.Observe(float64(n))
	m.commit.Observe(took.Seconds())
}

// Gauge adds a value that is read when somebody asks, such as
// Gauge("connected_agents", "...", fn). It panics on a name used twice.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "beeos_" + name, Help: help}, value))
}

// HTTP is the part of Metrics that one surface reports to.
type HTTP struct {
	m       *Metrics
	surface string
	latency prometheus.Observer
	byCode  [500]atomic.Pointer[prometheus.Counter] // status - 100
}

// HTTP returns the reporter of one surface. It keeps its counters at hand,
// because looking labels up costs more than counting.
func (m *Metrics) HTTP(surface string) *HTTP {
	return &HTTP{m: m, surface: surface, latency: m.latency.WithLabelValues(surface)}
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
