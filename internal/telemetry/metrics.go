package telemetry

import (
	"database/sql"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is everything BeeOS counts. Its methods take plain values, so that
// the packages that do the work report through a func field and never see
// Prometheus.
//
// Labels are words of our own: a surface, a method, an error code. The names that
// others choose, of agents, tools and models, are counted by a busiest, which has
// so many of them and no more. A caller, a request or a conversation is never a
// label.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	refused  *prometheus.CounterVec

	calls      kept[callLabels, prometheus.Observer]
	operations kept[operationLabels, prometheus.Observer]
	ended      kept[endLabels, prometheus.Observer]
	agents     *busiest
	names      agentNames
	models     *busiest
	money      prometheus.Counter

	batch  prometheus.Histogram
	commit prometheus.Histogram

	lost        *prometheus.CounterVec
	redelivered *prometheus.CounterVec
	webhooks    *prometheus.CounterVec
	signIns     *prometheus.CounterVec
	blobs       *prometheus.CounterVec
	blobBytes   *prometheus.CounterVec
	unread      *prometheus.CounterVec

	clock func() time.Time // of what is kept for a while
}

// How many of the names that others choose have numbers of their own.
const (
	agentsShown = 200 // pairs of an agent and a tool
	modelsShown = 50
)

// durations are the limits of the buckets of what callers wait for; those of
// operations are the MCP convention's.
var (
	durations          = []float64{.001, .005, .025, .1, .5, 2, 10, 60, 300}
	operationDurations = []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}
)

// NewMetrics returns metrics on a registry of their own, so that two
// instances in one process (tests, mostly) do not meet.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), clock: time.Now}
	m.agents, m.models, m.names.now = newBusiest(agentsShown, m.now), newBusiest(modelsShown, m.now), m.now
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.requests = m.counters("http_requests_total", "HTTP requests by surface and status code. Of this node.", "surface", "code")
	m.latency = m.histograms("beeos_http_request_seconds", "Time to answer an HTTP request, streams included. Of this node.", durations, "surface")
	m.refused = m.counters("refusals_total", "Requests that were answered with an error, by surface and error code. Of this node.", "surface", "reason")
	m.addCalls()
	m.batch = m.histogram("commit_batch_size", "Writes that shared one ledger commit. Of this node.", prometheus.ExponentialBuckets(1, 2, 10))
	m.commit = m.histogram("commit_seconds", "Duration of one ledger commit. Of this node.", []float64{.0001, .0005, .001, .0025, .005, .01, .025, .1, .5, 2})
	m.lost = m.counters("leases_lost_total", "Times that an instance was given a request and did not end it: gone (it disconnected), lease (its server was not heard of any more), undelivered (nobody took it). Of this node, which noticed.", "reason")
	m.redelivered = m.counters("redeliveries_total", "Times that a request was handed out again, by why the attempt before was lost: gone, lease, undelivered, or unknown where that is not recorded any more; resumed: the same instance came back and went on. Of this node, which did so.", "reason")
	m.webhooks = m.counters("webhook_attempts_total", "Attempts to send to a webhook or a notification channel: succeeded, failed (it is tried again), dead_letter (it is not). Of this node.", "outcome")
	m.signIns = m.counters("sign_in_failures_total", "Sign-ins of people that were refused, by method (password, provider, link) and error code. Of this node.", "method", "reason")
	m.blobs = m.counters("blob_operations_total", "What was asked of the place for files: put, open, delete, sweep; and what came of it: ok, refused (too large, or not there), failed. Of this node.", "operation", "outcome")
	m.blobBytes = m.counters("blob_bytes_total", "Bytes of files that were written and read. Of this node.", "direction")
	m.unread = m.counters("read_failures_total", "Times that the database was asked for values of this page and did not answer in time; the values are missing then. Of this node.", "what")
	return m
}

// counters adds counters by labels. Those that are listed begin at 0: Prometheus
// cannot tell that something rose which it has never seen.
func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "beeos_" + name, Help: help}, labels)
	m.registry.MustRegister(c)
	for _, values := range beginAtZero[name] {
		c.WithLabelValues(values...)
	}
	return c
}

var beginAtZero = map[string][][]string{
	"leases_lost_total":      {{"gone"}, {"lease"}, {"undelivered"}},
	"redeliveries_total":     {{"gone"}, {"lease"}, {"undelivered"}, {"resumed"}, {"unknown"}},
	"webhook_attempts_total": {{"succeeded"}, {"failed"}, {"dead_letter"}},
	"sign_in_failures_total": {{"password", "login_rejected"}, {"password", "rate_limited"}, {"provider", "forbidden"}, {"link", "not_found"}},
	"blob_operations_total":  {{"put", "ok"}, {"put", "failed"}, {"open", "ok"}, {"open", "failed"}, {"delete", "ok"}, {"delete", "failed"}, {"sweep", "ok"}, {"sweep", "failed"}},
	"blob_bytes_total":       {{"read"}, {"written"}},
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "beeos_" + name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) now() time.Time { return m.clock() }

// Handler serves the metrics in the Prometheus text format. A value that cannot
// be had is missing; the others are there.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Commit records one ledger commit of n writes.
func (m *Metrics) Commit(n int, took time.Duration) {
	m.batch.Observe(float64(n))
	m.commit.Observe(took.Seconds())
}

// Lost records that n leases ended without a reply; why is ours.
func (m *Metrics) Lost(why string, n int) { m.lost.WithLabelValues(why).Add(float64(n)) }

// Redelivered records that n requests were handed out again; why is ours.
func (m *Metrics) Redelivered(why string, n int) { m.redelivered.WithLabelValues(why).Add(float64(n)) }

// Webhook records an attempt to send to a webhook or a notification channel.
func (m *Metrics) Webhook(outcome string) { m.webhooks.WithLabelValues(outcome).Inc() }

// SignInFailed records that somebody was not let in; method and reason are ours.
func (m *Metrics) SignInFailed(method, reason string) {
	m.signIns.WithLabelValues(method, reason).Inc()
}

// Blob records what was asked of the place for files.
func (m *Metrics) Blob(operation, outcome string) {
	m.blobs.WithLabelValues(operation, outcome).Inc()
}

// BlobBytes records bytes of a file that were read or written.
func (m *Metrics) BlobBytes(direction string, n int64) {
	m.blobBytes.WithLabelValues(direction).Add(float64(n))
}

// Database adds the numbers of the pool of connections: go_sql_*.
func (m *Metrics) Database(db *sql.DB, name string) {
	m.registry.MustRegister(collectors.NewDBStatsCollector(db, name))
}

// Build says which program this is.
func (m *Metrics) Build(version string) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "beeos_build_info", Help: "1, with the version of this node's program as a label.", ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 }))
}

// Gauge adds a value that is read when somebody asks, such as
// Gauge("connected_agents", "...", fn). It panics on a name used twice.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "beeos_" + name, Help: help}, value))
}

// Counter is Gauge for a value that only rises.
func (m *Metrics) Counter(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "beeos_" + name, Help: help}, value))
}
