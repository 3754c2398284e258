//go:build unix

package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

const (
	deployed  = "../../deploy/prometheus"
	dashboard = "../../deploy/grafana/beeos.json"
)

// TestRules: promtool accepts the rules and the sample configuration, and each
// alert rings for what it is for and for nothing else.
func TestRules(t *testing.T) {
	for _, args := range [][]string{
		{"check", "rules", "beeos.rules.yml"}, {"check", "config", "prometheus.yml"}, {"test", "rules", "beeos.test.yml"},
	} {
		if said, ok := runTool(t, "", deployed, "promtool", args...); !ok {
			t.Errorf("promtool %v:\n%s", args, said)
		}
	}
}

// TestEveryAlertIsTested: one that no test names may never ring.
func TestEveryAlertIsTested(t *testing.T) {
	rules, err1 := os.ReadFile(filepath.Join(deployed, "beeos.rules.yml"))
	tests, err2 := os.ReadFile(filepath.Join(deployed, "beeos.test.yml"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	if len(alerts) < 10 {
		t.Errorf("%d alerts", len(alerts))
	}
	for _, a := range alerts {
		if !strings.Contains(string(tests), fmt.Sprintf(`alertname="%s"`, a[1])) {
			t.Errorf("no test lets %s ring", a[1])
		}
	}
}

// prometheus is a real one.
type prometheus struct {
	t   *testing.T
	url string
}

// startPrometheus scrapes the nodes every second until the test ends, with the
// rules that are shipped.
func startPrometheus(t *testing.T, nodes ...node) *prometheus {
	t.Helper()
	var targets []string
	for _, n := range nodes {
		at, err := url.Parse(n.Admin)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, strings.Replace(at.Host, "localhost", "127.0.0.1", 1))
	}
	rules, err := filepath.Abs(filepath.Join(deployed, "beeos.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs: [{job_name: beeos, static_configs: [{targets: [%s]}]}]\n", rules, strings.Join(targets, ", "))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := ports.Addr(t)
	p, err := program.Start("prometheus", []string{"HOME=" + dir}, findTool(t, "prometheus"),
		"--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := p.Terminate(patience); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("prometheus said:\n%s", p.Text())
		}
	})
	server := &prometheus{t, "http://" + addr}
	await(t, func() string {
		resp, err := http.Get(server.url + "/-/ready")
		if err != nil {
			return err.Error()
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return resp.Status
		}
		return ""
	})
	return server
}

// get asks the API.
func (p *prometheus) get(path string, query url.Values, data any) error {
	resp, err := http.Get(p.url + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", query, answer.Error)
	}
	return nil
}

// series are the labels of what a query finds.
func (p *prometheus) series(expr string) ([]map[string]string, error) {
	var found struct {
		Result []struct{ Metric map[string]string }
	}
	err := p.get("/api/v1/query", url.Values{"query": {expr}}, &found)
	var list []map[string]string
	for _, r := range found.Result {
		list = append(list, r.Metric)
	}
	return list, err
}

// awaitSeries waits until a query finds something, and all of the labels on it.
func (p *prometheus) awaitSeries(what, expr string, labels ...string) {
	p.t.Helper()
	await(p.t, func() string {
		found, err := p.series(expr)
		switch {
		case err != nil:
			p.t.Fatalf("%s: %v", what, err) // it will not become right
		case len(found) == 0:
			return fmt.Sprintf("%s finds nothing: %s", what, expr)
		}
		for _, l := range labels {
			if !slices.ContainsFunc(found, func(s map[string]string) bool { return s[l] != "" }) {
				return fmt.Sprintf("%s shows the label %s, which nothing has: %s", what, l, expr)
			}
		}
		return ""
	})
}

// metric finds the names of ours in an expression.
var metric = regexp.MustCompile(`\b(?:beeos|mcp|go|process)_[a-z0-9_]+\b|\bup\b`)

// notMetrics are labels that look like names.
var notMetrics = []string{"mcp_method_name"}

func (p *prometheus) awaitMetrics(what, expr string) {
	p.t.Helper()
	names := slices.DeleteFunc(metric.FindAllString(expr, -1), func(n string) bool { return slices.Contains(notMetrics, n) })
	if len(names) == 0 {
		p.t.Errorf("%s asks for nothing of ours: %s", what, expr)
	}
	for _, name := range names {
		p.awaitSeries(what, name)
	}
}

// TestPrometheusFindsEverything: two replicas on one PostgreSQL, an agent on one
// and its callers on the other, and a real Prometheus that scrapes both. Each node
// shows what is the cluster's alike; each call is counted once; and every query
// of the dashboard and of the rules finds series.
func TestPrometheusFindsEverything(t *testing.T) {
	database := pgtest.URL(t)
	var nodes []node
	for range 2 {
		nodes = append(nodes, startNode(t, "BEEOS_DATA="+t.TempDir(), "DATABASE_URL="+database, "BEEOS_CLUSTER_ADDR=127.0.0.1:0"))
	}
	key := issueKey(t, config.Config{Data: t.TempDir(), DatabaseURL: database})
	p := startPrometheus(t, nodes...)
	pages := awaitValues(t, makeLoad(t, nodes[0], nodes[1], key), nodes...)
	if _, counted := sumOf(t, pages[0], "beeos_agent_calls_total", `agent_name="worker"`); counted {
		t.Error("a call was counted by the node that did not store its reply") // the agent is on the other one
	}
	for _, page := range pages {
		if said, ok := runTool(t, page, "", "promtool", "check", "metrics"); !ok || said != "" {
			t.Errorf("promtool check metrics:\n%s", said)
		}
	}
	p.checkRules()
	p.checkDashboard()
}

var threshold = regexp.MustCompile(`^(.*) (?:>|<|==) [0-9.]+$`)

// checkRules: all rules are loaded and can be evaluated, and what each compares
// with its threshold is there.
func (p *prometheus) checkRules() {
	p.t.Helper()
	var loaded struct {
		Groups []struct {
			Rules []struct {
				Name, Query, Health, LastError string
				Annotations                    map[string]string
			}
		}
	}
	if err := p.get("/api/v1/rules", nil, &loaded); err != nil {
		p.t.Fatal(err)
	}
	count := 0
	for _, g := range loaded.Groups {
		for _, r := range g.Rules {
			count++
			if r.Health == "err" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				p.t.Errorf("%s: %s %s %v", r.Name, r.Health, r.LastError, r.Annotations)
			}
			compared := threshold.FindStringSubmatch(r.Query)
			if compared == nil {
				p.t.Errorf("%s is not compared with a number: %s", r.Name, r.Query)
				continue
			}
			p.awaitMetrics(r.Name, r.Query)
			p.awaitSeries(r.Name, compared[1])
		}
	}
	if count < 10 {
		p.t.Errorf("only %d rules are loaded", count)
	}
}

// panel is as much of a panel as is looked at.
type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct {
		Expr, LegendFormat string
		Datasource         struct{ UID string }
	}
}

var legend = regexp.MustCompile(`\{\{(\w+)\}\}`)

// checkDashboard: every query of every panel finds series, and what its legend
// shows is a label of them.
func (p *prometheus) checkDashboard() {
	p.t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		p.t.Fatal(err)
	}
	var board struct{ Panels []panel }
	if err := json.Unmarshal(text, &board); err != nil {
		p.t.Fatal(err)
	}
	var rows []string
	ids := map[int]bool{}
	for _, one := range board.Panels {
		at := one.GridPos
		if ids[one.ID] || at.X < 0 || at.X+at.W > 24 || at.W == 0 || at.H == 0 {
			p.t.Errorf("%s has no place of its own", one.Title)
		}
		ids[one.ID] = true
		if one.Type == "row" {
			rows = append(rows, one.Title)
			continue
		}
		if len(one.Targets) == 0 || one.Description == "" {
			p.t.Errorf("%s shows nothing, or does not say what", one.Title)
		}
		for _, target := range one.Targets {
			if target.Datasource.UID != "${datasource}" {
				p.t.Errorf("%s asks %q", one.Title, target.Datasource.UID)
			}
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)
			if strings.Contains(expr, "$") {
				p.t.Errorf("%s has a variable that is not there: %s", one.Title, expr)
			}
			var labels []string
			for _, l := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				labels = append(labels, l[1])
			}
			p.awaitMetrics(one.Title, expr)
			p.awaitSeries(one.Title, expr, labels...)
		}
	}
	if want := "Calls, Agents, Queue and approvals, Storage, Webhooks, Process"; strings.Join(rows, ", ") != want {
		p.t.Errorf("rows %v", rows)
	}
}
