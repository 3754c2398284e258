//go:build unix

package metrics

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/config"
)

var update = flag.Bool("update", false, "write the table of docs/reference/metrics.md anew")

// family is a metric as its page describes it.
type family struct {
	name, kind, help string
	labels           []string
}

var (
	sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	label  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// readFamilies takes a page apart.
func readFamilies(t *testing.T, page string) map[string]*family {
	t.Helper()
	all := map[string]*family{}
	var f *family
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# HELP "):
			name, help, _ := strings.Cut(strings.TrimPrefix(line, "# HELP "), " ")
			f = &family{name: name, help: help}
			all[name] = f
		case strings.HasPrefix(line, "# TYPE "):
			f.kind = line[strings.LastIndex(line, " ")+1:]
		default:
			m := sample.FindStringSubmatch(line)
			if m == nil || f == nil || !strings.HasPrefix(m[1], f.name) {
				t.Fatalf("a line that is no sample of %v: %s", f, line)
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				if name := l[1]; name != "le" && name != "quantile" && !slices.Contains(f.labels, name) {
					f.labels = append(f.labels, name)
				}
			}
		}
	}
	return all
}

// sumOf adds up the samples of a page that have the labels.
func sumOf(t *testing.T, page, name string, labels ...string) (sum float64, found bool) {
	t.Helper()
	for line := range strings.Lines(page) {
		m := sample.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[1] != name || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(","+m[2]+",", ","+l+",") }) {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum, found = sum+v, true
	}
	return sum, found
}

// expected is what the load leaves on the pages of all nodes together.
type expected struct {
	name   string
	labels []string
	value  float64
	atMost float64 // 0: it is value to the digit
}

func ofLoad(l *load) []expected {
	worker := fmt.Sprintf("agent=%q", l.worker)
	is := func(label, value string) string { return fmt.Sprintf("%s=%q", label, value) }
	return []expected{
		{name: "beeos_agent_calls_total", labels: []string{worker, is("agent_name", "worker"), is("tool", "add")}, value: 2},
		{name: "beeos_agent_errors_total", labels: []string{worker, is("tool", "add")}, value: 0},
		{name: "beeos_agent_calls_total", labels: []string{worker, is("tool", "break")}, value: 1},
		{name: "beeos_agent_errors_total", labels: []string{worker, is("tool", "break")}, value: 1},
		{name: "beeos_agent_calls_total", labels: []string{worker, is("tool", "message")}, value: 3}, // REST, A2A, a task
		{name: "beeos_request_seconds_count", labels: []string{is("surface", "mcp"), is("outcome", "ok")}, value: 2},
		{name: "beeos_call_seconds_count", labels: []string{is("surface", "mcp"), is("method", "tools/call"), is("outcome", "ok")}, value: 2},
		{name: "beeos_call_seconds_count", labels: []string{is("surface", "mcp"), is("method", "tools/call"), is("outcome", "agent_error")}, value: 1},
		{name: "beeos_call_seconds_count", labels: []string{is("surface", "a2a"), is("method", "message"), is("outcome", "ok")}, value: 1},
		{name: "mcp_server_operation_duration_seconds_count", labels: []string{is("mcp_method_name", "tools/call"), is("error_type", "")}, value: 2},
		{name: "mcp_server_operation_duration_seconds_count", labels: []string{is("mcp_method_name", "tools/call"), is("error_type", "tool_error")}, value: 1},
		{name: "mcp_server_operation_duration_seconds_count", labels: []string{is("mcp_method_name", "tools/call"), is("error_type", "-32601")}, value: 1},
		{name: "mcp_server_operation_duration_seconds_count", labels: []string{is("mcp_method_name", "tools/call"), is("error_type", "-32602")}, value: 1},
		{name: "mcp_server_operation_duration_seconds_count", labels: []string{is("mcp_method_name", "_OTHER")}, value: 1},
		{name: "beeos_model_input_tokens_total", labels: []string{is("model", "model-1")}, value: 300},
		{name: "beeos_model_output_tokens_total", labels: []string{is("model", "model-1")}, value: 60},
		{name: "beeos_refusals_total", labels: []string{is("surface", "rest"), is("reason", "agent_offline")}, value: 1, atMost: 1000},
		{name: "beeos_refusals_total", labels: []string{is("surface", "rest"), is("reason", "agent_not_found")}, value: 1},
		{name: "beeos_refusals_total", labels: []string{is("surface", "rest"), is("reason", "missing_param")}, value: 1},
		{name: "beeos_refusals_total", labels: []string{is("surface", "rest"), is("reason", "login_rejected")}, value: 1},
		{name: "beeos_refusals_total", labels: []string{is("surface", "mcp"), is("reason", "invalid_param")}, value: 1},
		{name: "beeos_refusals_total", labels: []string{is("surface", "mcp"), is("reason", "not_found")}, value: 2},
		{name: "beeos_refusals_total", labels: []string{is("surface", "a2a"), is("reason", "invalid_param")}, value: 1},
		{name: "beeos_refusals_total", labels: []string{is("surface", "web"), is("reason", "login_rejected")}, value: 1},
		{name: "beeos_sign_in_failures_total", labels: []string{is("method", "password"), is("reason", "login_rejected")}, value: 2},
		{name: "beeos_blob_operations_total", labels: []string{is("operation", "put"), is("outcome", "ok")}, value: 1},
		{name: "beeos_blob_bytes_total", labels: []string{is("direction", "written")}, value: 11},
		{name: "beeos_blob_bytes_total", labels: []string{is("direction", "read")}, value: 11},
		{name: "beeos_webhook_attempts_total", labels: []string{is("outcome", "failed")}, value: 1, atMost: 10},
		{name: "beeos_connected_agents", value: 2, atMost: 2},
	}
}

// ofCluster is what every node shows alike after the load.
var ofCluster = []expected{
	{name: "beeos_requests_waiting", value: 1},
	{name: "beeos_requests_in_flight", value: 1},
	{name: "beeos_oldest_waiting_seconds", value: 0.001, atMost: 1000},
	{name: "beeos_approvals_waiting", value: 1},
	{name: "beeos_oldest_approval_seconds", value: 0.001, atMost: 1000},
	{name: "beeos_webhook_backlog", value: 1, atMost: 10},
	{name: "beeos_webhook_overdue_seconds", value: 0, atMost: 1000},
	{name: "beeos_bus_connected", value: 1},
}

// check returns what is not as expected on the pages together.
func (e *expected) check(t *testing.T, pages ...string) string {
	t.Helper()
	sum, found := 0.0, false
	for _, page := range pages {
		n, ok := sumOf(t, page, e.name, e.labels...)
		sum, found = sum+n, found || ok
	}
	if !found || sum < e.value || sum > max(e.value, e.atMost) {
		return fmt.Sprintf("%s%v is %v (there: %v), want %v", e.name, e.labels, sum, found, e.value)
	}
	return ""
}

// awaitValues waits until the pages show what the load has left.
func awaitValues(t *testing.T, l *load, nodes ...node) (pages []string) {
	t.Helper()
	await(t, func() string {
		pages = nil
		for _, n := range nodes {
			pages = append(pages, n.page(t))
		}
		for _, e := range ofLoad(l) {
			if complaint := e.check(t, pages...); complaint != "" {
				return complaint
			}
		}
		for i, page := range pages {
			for _, e := range ofCluster {
				if complaint := e.check(t, page); complaint != "" {
					return fmt.Sprint("node ", i, ": ", complaint)
				}
			}
		}
		return ""
	})
	return pages
}

// TestPageOfServer: after a mixed load on SQLite every number is right, promtool
// has nothing to say about the page, and the document has every family of it.
func TestPageOfServer(t *testing.T) {
	data := t.TempDir()
	n := startNode(t, "BEEOS_DATA="+data)
	key := issueKey(t, config.Config{Data: data})
	pages := awaitValues(t, makeLoad(t, n, n, key), n)
	if said, ok := runTool(t, pages[0], "", "promtool", "check", "metrics"); !ok || said != "" {
		t.Errorf("promtool check metrics:\n%s", said)
	}
	checkDocument(t, readFamilies(t, pages[0]))
}

const (
	document = "../../docs/reference/metrics.md"
	begin    = "<!-- written by: go test ./test/metrics -update -->\n"
	end      = "<!-- end -->\n"
)

// checkDocument holds the table of the document to the page.
func checkDocument(t *testing.T, page map[string]*family) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", document)
	}
	var want strings.Builder
	want.WriteString("\n| metric | type | labels | |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(page)) {
		f := page[name]
		if (strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "go_sql_")) || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") {
			continue // Go's own, which everybody knows
		}
		slices.Sort(f.labels)
		labels := ""
		if len(f.labels) > 0 {
			labels = "`" + strings.Join(f.labels, "`, `") + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", name, f.kind, labels, f.help)
	}
	want.WriteString("\n")
	if *update {
		if err := os.WriteFile(document, []byte(head+begin+want.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want.String() {
		t.Errorf("the table of %s is not that of the program; write it anew with: go test ./test/metrics -update\n%s", document, want.String())
	}
}
