package telemetry

import (
	"cmp"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type (
	callLabels      struct{ surface, method, outcome string }
	operationLabels struct{ method, errorType string }
	endLabels       struct{ surface, outcome string }
)

// addCalls adds what is counted of calls.
func (m *Metrics) addCalls() {
	m.money = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "beeos_model_cost_dollars_total",
		Help: "What tokens of models cost by the price list, in US dollars; those without a price are not in it. Every answer of the cluster is counted once, by the node that stored it.",
	})
	m.registry.MustRegister(m.money)
	calls := m.histograms("beeos_call_seconds", "How long callers waited for an agent, by surface, method (message, or the MCP method) and outcome: ok, agent_error, disconnected, or an error code. Of this node.",
		durations, "surface", "method", "outcome")
	m.calls.create = func(l callLabels) prometheus.Observer {
		return calls.WithLabelValues(l.surface, l.method, l.outcome)
	}
	// The name, labels and buckets of the OpenTelemetry convention for MCP, as
	// Prometheus spells them.
	operations := m.histograms("mcp_server_operation_duration_seconds", "Duration of MCP requests by method and error: empty, tool_error, client_left, or the JSON-RPC code. Of this node.",
		operationDurations, "mcp_method_name", "error_type")
	m.operations.create = func(l operationLabels) prometheus.Observer {
		return operations.WithLabelValues(l.method, l.errorType)
	}
	ended := m.histograms("beeos_request_seconds", "From the moment that a request was stored to its final reply, waits for people and for instances included, by surface and outcome. Every request of the cluster is counted once, by the node that stored its reply.",
		durations, "surface", "outcome")
	m.ended.create = func(l endLabels) prometheus.Observer { return ended.WithLabelValues(l.surface, l.outcome) }

	labels := []string{"agent", "agent_name", "tool"}
	m.registry.MustRegister(&busiestCollector{
		of: m.agents, names: &m.names,
		first:  prometheus.NewDesc("beeos_agent_calls_total", "Requests that ended, by agent and tool (message: the agent itself): the busiest 200, the rest together as other. Every request of the cluster is counted once, by the node that stored its reply.", labels, nil),
		second: prometheus.NewDesc("beeos_agent_errors_total", "Those of beeos_agent_calls_total that ended with neither a reply nor a cancel.", labels, nil),
	}, &busiestCollector{
		of:     m.models,
		first:  prometheus.NewDesc("beeos_model_input_tokens_total", "Tokens that models read, as agents report it: the busiest 50 models, the rest together as other. Every answer of the cluster is counted once, by the node that stored it.", []string{"model"}, nil),
		second: prometheus.NewDesc("beeos_model_output_tokens_total", "Tokens that models wrote; as beeos_model_input_tokens_total.", []string{"model"}, nil),
	})
}

// Call records that a caller waited for an agent. Outcome is ok, agent_error, or
// the code of the error, and method one of the protocol's; never anything that a
// caller can make up.
func (m *Metrics) Call(surface, method, outcome string, took time.Duration) {
	m.calls.get(callLabels{surface, method, outcome}).Observe(took.Seconds())
}

// Operation records one answered MCP request. The method is one that exists, the
// error one of the convention's words.
func (m *Metrics) Operation(method, errorType string, took time.Duration) {
	m.operations.get(operationLabels{method, errorType}).Observe(took.Seconds())
}

// Ended records the end of a stored request; tool is empty for the agent itself.
func (m *Metrics) Ended(agent, tool, surface, outcome string, isError bool, took time.Duration) {
	m.ended.get(endLabels{surface, outcome}).Observe(took.Seconds())
	errors := uint64(0)
	if isError {
		errors = 1
	}
	m.agents.add(pair{agent, cmp.Or(tool, "message")}, 1, errors)
}

// mostTokens is more than any model takes at once. Agents can report any number,
// and a sum that runs over would go down.
const mostTokens = 100_000_000

// mostMicros is more than an answer costs, likewise.
const mostMicros = 1_000_000_000_000

// Tokens records what a model read and wrote for an answer.
func (m *Metrics) Tokens(model string, input, output int64) {
	read, written := uint64(min(max(0, input), mostTokens)), uint64(min(max(0, output), mostTokens))
	if read+written > 0 {
		m.models.add(pair{cmp.Or(model, "unknown")}, read, written)
	}
}

// Money records what tokens of models cost, in millionths of a US dollar.
func (m *Metrics) Money(micros int64) {
	if micros > 0 {
		m.money.Add(float64(min(micros, mostMicros)) / 1e6)
	}
}

// NameAgents sets where the names of agents are found, by their ids.
func (m *Metrics) NameAgents(read func(ctx context.Context, ids []string) (map[string]string, error)) {
	m.names.mu.Lock()
	defer m.names.mu.Unlock()
	m.names.read, m.names.failed = read, m.unread.WithLabelValues("agent names")
}
