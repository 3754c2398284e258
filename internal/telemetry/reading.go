package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// How often and for how long the database is asked for values of the page,
// however many ask for the page.
const (
	readEvery  = 10 * time.Second
	readWithin = 2 * time.Second
)

// Family is the name of a value, and what it means.
type Family struct{ Name, Help string }

// Reading is values that the database is asked for together.
type Reading struct {
	What   string // they are, for those who look into a failure
	Values []Family
	Read   func(context.Context) ([]float64, error) // one for each of Values
}

// AddReading adds values that are read when somebody asks for the page: at most
// once in ten seconds, and within two. While they cannot be had they are missing,
// and beeos_read_failures_total rises.
func (m *Metrics) AddReading(r Reading) {
	c := &readingCollector{Reading: r, now: m.now, failed: m.unread.WithLabelValues(r.What)}
	for _, v := range r.Values {
		c.descs = append(c.descs, prometheus.NewDesc("beeos_"+v.Name, v.Help, nil, nil))
	}
	m.registry.MustRegister(c)
}

type readingCollector struct {
	Reading
	descs  []*prometheus.Desc
	now    func() time.Time
	failed prometheus.Counter

	mu     sync.Mutex
	read   time.Time
	values []float64
}

func (c *readingCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

func (c *readingCollector) Collect(to chan<- prometheus.Metric) {
	for i, v := range c.current() {
		to <- prometheus.MustNewConstMetric(c.descs[i], prometheus.GaugeValue, v)
	}
}

// current is what was read lately.
func (c *readingCollector) current() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.read) >= readEvery {
		c.read = now
		ctx, cancel := context.WithTimeout(context.Background(), readWithin)
		defer cancel()
		values, err := c.Read(ctx)
		if err != nil || len(values) != len(c.descs) {
			c.failed.Inc()
			values = nil
		}
		c.values = values
	}
	return c.values
}

// agentNames keeps the names of the agents that are shown.
type agentNames struct {
	now    func() time.Time
	mu     sync.Mutex
	read   func(ctx context.Context, ids []string) (map[string]string, error)
	failed prometheus.Counter
	at     time.Time
	known  map[string]string
}

// find returns the names of agents, as they were a moment ago; of one that is new
// or gone, or while they cannot be had, there may be none.
func (n *agentNames) find(ids []string) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if n.read == nil || len(ids) == 0 || now.Sub(n.at) < readEvery {
		return n.known
	}
	n.at = now
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	known, err := n.read(ctx, ids)
	if err != nil {
		n.failed.Inc()
		return n.known
	}
	n.known = known
	return known
}

// busiestCollector shows a busiest as two counters.
type busiestCollector struct {
	of            *busiest
	names         *agentNames // nil: the first name is all there is
	first, second *prometheus.Desc
}

func (c *busiestCollector) Describe(to chan<- *prometheus.Desc) { to <- c.first; to <- c.second }

func (c *busiestCollector) Collect(to chan<- prometheus.Metric) {
	list, other := c.of.read()
	send := func(counts [2]uint64, labels ...string) {
		for i, desc := range []*prometheus.Desc{c.first, c.second} {
			if m, err := prometheus.NewConstMetric(desc, prometheus.CounterValue, float64(counts[i]), labels...); err == nil { // a name that is no text is not shown
				to <- m
			}
		}
	}
	if c.names == nil {
		for _, t := range list {
			send(t.counts, t.name[0])
		}
		send(other, others)
		return
	}
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.name[0]
	}
	known := c.names.find(ids)
	for _, t := range list {
		send(t.counts, t.name[0], known[t.name[0]], t.name[1])
	}
	send(other, others, others, others)
}
