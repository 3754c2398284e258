package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// readPage is what Prometheus gets.
func readPage(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// wantLines looks for the beginnings of lines.
func wantLines(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+page, "\n"+line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestMetrics(t *testing.T) {
	m := NewMetrics()
	h := m.HTTP("rest")
	h.Done(200, 3*time.Millisecond)
	h.Done(200, 3*time.Millisecond)
	h.Done(404, time.Second)
	h.Done(7, 0)
	h.Refused("rate_limited")
	h.Refused("rate_limited")
	m.HTTP("mcp").Refused("rate_limited")
	m.Call("mcp", "tools/call", "ok", 20*time.Millisecond)
	m.Call("mcp", "message", "service_timeout", time.Minute)
	m.Operation("tools/call", "", 20*time.Millisecond)
	m.Operation("tools/call", "tool_error", 20*time.Millisecond)
	m.Ended("agent_1", "add", "mcp", "ok", false, 20*time.Millisecond)
	m.Ended("agent_1", "add", "rest", "failed", true, 20*time.Millisecond)
	m.Ended("agent_1", "", "rest", "canceled", false, 20*time.Millisecond)
	m.Tokens("m1", 100, 10)
	m.Tokens("", 1, 0)
	m.Tokens("other", 5, 0) // a name that would be twice on the page
	m.Tokens("no text \xff", 5, 0)
	m.Tokens("liar", math.MinInt64, math.MaxInt64)
	m.Tokens("liar", 1, math.MaxInt64)
	m.Commit(5, time.Millisecond)
	m.Lost("lease", 2)
	m.Redelivered("gone", 3)
	m.Webhook("failed")
	m.SignInFailed("password", "login_rejected")
	m.Blob("put", "ok")
	m.BlobBytes("written", 7)
	m.Build("v1")
	m.NameAgents(func(_ context.Context, ids []string) (map[string]string, error) {
		return map[string]string{ids[0]: "Adder"}, nil
	})
	m.Gauge("connected_agents", "Agents connected to this node.", func() float64 { return 3 })
	m.Counter("bus_reconnects_total", "Times.", func() float64 { return 4 })

	wantLines(t, readPage(t, m),
		`beeos_http_requests_total{code="200",surface="rest"} 2`,
		`beeos_http_requests_total{code="404",surface="rest"} 1`,
		`beeos_http_requests_total{code="599",surface="rest"} 1`,
		`beeos_http_request_seconds_count{surface="rest"} 4`,
		`beeos_refusals_total{reason="rate_limited",surface="rest"} 2`,
		`beeos_refusals_total{reason="rate_limited",surface="mcp"} 1`,
		`beeos_call_seconds_count{method="tools/call",outcome="ok",surface="mcp"} 1`,
		`beeos_call_seconds_bucket{method="message",outcome="service_timeout",surface="mcp",le="60"} 1`,
		`mcp_server_operation_duration_seconds_bucket{error_type="",mcp_method_name="tools/call",le="0.02"} 1`,
		`mcp_server_operation_duration_seconds_count{error_type="tool_error",mcp_method_name="tools/call"} 1`,
		`beeos_request_seconds_count{outcome="failed",surface="rest"} 1`,
		`beeos_agent_calls_total{agent="agent_1",agent_name="Adder",tool="add"} 2`,
		`beeos_agent_errors_total{agent="agent_1",agent_name="Adder",tool="add"} 1`,
		`beeos_agent_calls_total{agent="agent_1",agent_name="Adder",tool="message"} 1`,
		`beeos_agent_errors_total{agent="agent_1",agent_name="Adder",tool="message"} 0`,
		`beeos_agent_calls_total{agent="other",agent_name="other",tool="other"} 0`,
		`beeos_model_input_tokens_total{model="m1"} 100`,
		`beeos_model_output_tokens_total{model="m1"} 10`,
		`beeos_model_input_tokens_total{model="unknown"} 1`,
		`beeos_model_input_tokens_total{model="other"} 5`,
		`beeos_model_input_tokens_total{model="liar"} 1`,
		`beeos_model_output_tokens_total{model="liar"} 2e+08`,
		`beeos_commit_batch_size_bucket{le="8"} 1`,
		`beeos_commit_seconds_count 1`,
		`beeos_leases_lost_total{reason="lease"} 2`,
		`beeos_leases_lost_total{reason="gone"} 0`,
		`beeos_redeliveries_total{reason="gone"} 3`,
		`beeos_webhook_attempts_total{outcome="failed"} 1`,
		`beeos_sign_in_failures_total{method="password",reason="login_rejected"} 1`,
		`beeos_blob_operations_total{operation="put",outcome="ok"} 1`,
		`beeos_blob_bytes_total{direction="written"} 7`,
		`beeos_build_info{version="v1"} 1`,
		`beeos_connected_agents 3`,
		`beeos_bus_reconnects_total 4`,
		`go_goroutines `,
		`process_open_fds `,
	)
	NewMetrics().Gauge("connected_agents", "again", func() float64 { return 0 }) // registries do not meet
}

// TestReadingsAskSeldom: however often the page is read, the database is asked
// once in ten seconds; while it does not answer, its values alone are missing.
func TestReadingsAskSeldom(t *testing.T) {
	m := NewMetrics()
	asked, trouble := 0, error(nil)
	m.AddReading(Reading{
		What: "queue", Values: []Family{{"requests_waiting", "Requests that wait."}, {"oldest_waiting_seconds", "Age."}},
		Read: func(ctx context.Context) ([]float64, error) {
			asked++
			if _, limited := ctx.Deadline(); !limited {
				t.Error("the database may take for ever")
			}
			return []float64{float64(asked), 1.5}, trouble
		},
	})
	m.Gauge("connected_agents", "Agents connected to this node.", func() float64 { return 3 })
	now := time.Now()
	m.clock = func() time.Time { return now }
	for range 3 {
		wantLines(t, readPage(t, m), `beeos_requests_waiting 1`, `beeos_oldest_waiting_seconds 1.5`, `beeos_read_failures_total{what="queue"} 0`)
	}
	now, trouble = now.Add(readEvery), errors.New("the database is away")
	readPage(t, m) // notices; whether it has counted that already is chance
	page := readPage(t, m)
	wantLines(t, page, `beeos_connected_agents 3`, `beeos_read_failures_total{what="queue"} 1`)
	if strings.Contains(page, "\nbeeos_requests_waiting ") {
		t.Error("a value that nobody knows")
	}
	now, trouble = now.Add(readEvery), nil
	wantLines(t, readPage(t, m), `beeos_requests_waiting 3`)
}

// TestAgentNamesOutliveFailure: a series is not another one because the database
// was away.
func TestAgentNamesOutliveFailure(t *testing.T) {
	m := NewMetrics()
	now := time.Now()
	m.clock = func() time.Time { return now }
	var trouble error
	m.NameAgents(func(context.Context, []string) (map[string]string, error) {
		return map[string]string{"a": "Ann"}, trouble
	})
	m.Ended("a", "", "rest", "ok", false, 0)
	wantLines(t, readPage(t, m), `beeos_agent_calls_total{agent="a",agent_name="Ann",tool="message"} 1`)
	now, trouble = now.Add(readEvery), errors.New("the database is away")
	readPage(t, m)
	wantLines(t, readPage(t, m), `beeos_agent_calls_total{agent="a",agent_name="Ann",tool="message"} 1`, `beeos_read_failures_total{what="agent names"} 1`)
}

var agentCalls = regexp.MustCompile(`(?m)^beeos_agent_calls_total\{agent="([^"]+)",[^}]*tool="([^"]+)"\} (\d+)$`)

// TestBusiestStayBounded: 5,000 agents are called, a few of them more and more,
// and the page has never more than 200 and the others; no number on it ever goes
// down, every call is counted once, and who is busy is seen within minutes.
func TestBusiestStayBounded(t *testing.T) {
	m := NewMetrics()
	now := time.Unix(1e9, 0)
	m.clock = func() time.Time { return now }
	last := map[string]int{}
	counted, risen := 0, 0 // by the callers; by Prometheus, which adds up what it sees rise
	look := func() map[string]int {
		t.Helper()
		seen := map[string]int{}
		for _, line := range agentCalls.FindAllStringSubmatch(readPage(t, m), -1) {
			name := line[1] + " " + line[2]
			n, err := strconv.Atoi(line[3])
			if err != nil {
				t.Fatal(err)
			}
			if n < last[name] {
				t.Fatalf("%s went down from %d to %d", name, last[name], n)
			}
			risen += n - last[name]
			seen[name], last[name] = n, n
		}
		if len(seen) > agentsShown+1 {
			t.Fatalf("%d series", len(seen))
		}
		now = now.Add(lookEvery)
		return seen
	}
	call := func(agent string, times int) {
		for range times {
			m.Ended(agent, "", "rest", "ok", false, 0)
			counted++
		}
	}
	for i := range 5000 { // strangers, first come, first served
		call(fmt.Sprint("agent_", i), 1)
	}
	if seen := look(); len(seen) != agentsShown+1 || seen["other other"] != 5000-agentsShown {
		t.Fatalf("%d series, %d calls of others", len(seen), seen["other other"])
	}
	if n := len(m.agents.known); n > candidates*agentsShown {
		t.Fatalf("%d names are remembered", n)
	}
	for range 5 { // late risers, one of them so late that nobody had heard of it
		for _, agent := range []string{"agent_1500", "agent_4999", "new"} {
			call(agent, 50)
		}
		look()
	}
	seen := look()
	for _, agent := range []string{"agent_1500 message", "agent_4999 message", "new message"} {
		if seen[agent] < 100 {
			t.Errorf("%s has only %d of 250 calls", agent, seen[agent])
		}
	}
	for i := range 2000 { // others rise, and the first fall asleep
		call(fmt.Sprint("crowd_", i%(2*agentsShown)), 10)
		if i%agentsShown == 0 {
			look()
		}
	}
	for range 10 {
		call("agent_1500", 100) // back from where it was: the check above sees that it goes on
		look()
	}
	if counted != risen {
		t.Errorf("%d calls were made and %d seen", counted, risen)
	}
}

func BenchmarkHTTPDone(b *testing.B) {
	h := NewMetrics().HTTP("mcp")
	b.ReportAllocs()
	for b.Loop() {
		h.Done(200, time.Millisecond)
	}
}

// BenchmarkCall is all that is counted of one MCP call that goes well: the HTTP
// request, the operation, the caller's wait, and the end of the stored request.
func BenchmarkCall(b *testing.B) {
	m := NewMetrics()
	h := m.HTTP("mcp")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			m.Ended("agent_1", "add", "mcp", "ok", false, time.Millisecond)
			m.Call("mcp", "tools/call", "ok", time.Millisecond)
			m.Operation("tools/call", "", time.Millisecond)
			h.Done(200, time.Millisecond)
		}
	})
}

// BenchmarkRefusal is what an error costs more.
func BenchmarkRefusal(b *testing.B) {
	h := NewMetrics().HTTP("mcp")
	b.ReportAllocs()
	for b.Loop() {
		h.Refused("rate_limited")
	}
}
