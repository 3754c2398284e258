//go:build hostile

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/bridgetest"
)

// events are the beginning of a stream that never ends, as each kind of server
// behind a bridge would send it.
var events = map[string]string{
	"a2a":    `{"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"still at it"}]}}}}}`,
	"http":   `{"delta":"x"}`,
	"openai": `{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}`,
	"mcp":    `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`,
}

// bridged is a server of somebody else's that a bridge makes an agent of. It is
// what it should be until it is called: then it attacks by the name that the
// message has.
type bridged struct {
	*httptest.Server
	kind string

	mu         sync.Mutex
	came, left map[string]int // requests by attack
}

func newBridged(t *testing.T, kind string) *bridged {
	p := &bridged{kind: kind, came: map[string]int{}, left: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func (p *bridged) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if name, attack := p.attackIn(string(body)); attack != nil {
		p.count(p.came, name)
		defer p.count(p.left, name)
		attack(w, r)
		return
	}
	switch {
	case p.kind == "a2a" && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "agent-card.json"):
		fmt.Fprintf(w, bridgetest.StreamingCard, p.URL, p.URL)
	case p.kind == "mcp" && r.Method == http.MethodPost:
		serveTool(w, body)
	default:
		http.Error(w, "there is nothing here", http.StatusNotFound)
	}
}

// serveTool is as much of an MCP server as it takes to be called.
func serveTool(w http.ResponseWriter, body []byte) {
	var q struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(body, &q) != nil || q.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := `"error":{"code":-32601,"message":"no such method"}`
	switch q.Method {
	case "initialize":
		answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"odd","version":"1"}}`
	case "tools/list":
		answer = `"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, q.ID, answer)
}

// attackIn is the attack that a message names. Streams are in the words of the
// kind, so that they are heard out.
func (p *bridged) attackIn(body string) (string, http.HandlerFunc) {
	event := "data: " + events[p.kind] + "\n\n"
	own := map[string]http.HandlerFunc{
		"events without end": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			pour(w, r, []byte(strings.Repeat(event, 64<<10/len(event))), tenGB)
		},
		"a million small events": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			pour(w, r, []byte(event), int64(million*len(event)))
		},
	}
	for name, attack := range attacks {
		if own[name] == nil {
			own[name] = attack
		}
	}
	for name, attack := range own {
		if strings.Contains(body, "attack by "+name+".") {
			return name, attack
		}
	}
	return "", nil
}

func (p *bridged) count(in map[string]int, name string) {
	p.mu.Lock()
	in[name]++
	p.mu.Unlock()
}

// bridge runs beeos connect in front of it and returns the agent's id.
func (p *bridged) bridge(t *testing.T, n *node, key string) (*process, string) {
	args := []string{"connect", "--name", p.kind, "--identity", t.TempDir() + "/id.json", "--" + p.kind, p.URL}
	if p.kind == "openai" {
		args = append(args, "--model", "odd")
	}
	proc := start(t, "connect --"+p.kind, binary(t), []string{"AGENT_GATEWAY_URL=" + n.agents, "BEEOS_KEY=" + key, "BEEOS_DATA=" + t.TempDir()}, args...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cl := client.New(n.rest, key)
	for {
		if a, err := cl.Find(ctx, p.kind); err == nil && a.Online {
			return proc, a.ID
		}
		if !pause(ctx, paceEvery) {
			t.Fatalf("%s is not there", proc.Name)
		}
	}
}

// TestHostileServersBehindBridges: what stands behind beeos connect sends too
// much, too long, too slowly or in circles. Neither that process nor the server
// grows, the call ends within its limit and says why, and nobody else waits.
func TestHostileServersBehindBridges(t *testing.T) {
	aside(t)
	n := newNode(t, "server")
	key, other := n.owner(), n.user("bystander@example.com")
	n.start()
	var all []*bridged
	var agents []string
	var processes []*process
	for _, kind := range slices.Sorted(maps.Keys(events)) {
		p := newBridged(t, kind)
		proc, id := p.bridge(t, n, key)
		all, agents, processes = append(all, p), append(agents, id), append(processes, proc)
	}
	b := newBystander(t, n, other, processes...)
	ctx, cancel := context.WithTimeout(t.Context(), 16*patience)
	defer cancel()
	for _, name := range append(slices.Sorted(maps.Keys(attacks)), "events without end") {
		t.Run(name, func(t *testing.T) {
			b.suffer(t, name, func() {
				var calls errgroup.Group
				for i, p := range all {
					calls.Go(func() error { return named(p.kind, name, p.provoke(ctx, t, n, key, agents[i], name)) })
				}
				if err := calls.Wait(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// provoke calls the agent so that its server attacks, and waits until that was
// hung up on.
func (p *bridged) provoke(ctx context.Context, t *testing.T, n *node, key, agent, name string) error {
	message := "attack by " + name + "."
	ctx, cancel := context.WithTimeout(ctx, callWithin+patience)
	defer cancel()
	said, err := p.callOnce(ctx, n, key, agent, message)
	if err != nil {
		return err
	}
	t.Logf("%s: %s", p.kind, said)
	for {
		p.mu.Lock()
		came, left := p.came[name], p.left[name]
		p.mu.Unlock()
		if came > 0 && came == left || p.kind == "mcp" && slices.Contains(waits, name) { // where the client has left
			return nil
		}
		if !pause(ctx, paceEvery) {
			return fmt.Errorf("%d requests came, %d are over", came, left)
		}
	}
}

// waits are the attacks that go on for as long as somebody may want the answer,
// which is an hour: a caller whose time is up can come back for it.
var waits = []string{"silence", "a byte a minute", "events without end"}

// cancelTask says that nobody wants it once the server was asked.
func (p *bridged) cancelTask(ctx context.Context, cl *client.Client, agent, message string) (string, error) {
	task, err := cl.CreateTask(ctx, agent, client.TaskRequest{Message: message})
	if err != nil {
		return "", err
	}
	for came := false; !came; {
		p.mu.Lock()
		for name, n := range p.came {
			came = came || n > p.left[name]
		}
		p.mu.Unlock()
		if !came && !pause(ctx, paceEvery) {
			return "", errors.New("the server was not asked")
		}
	}
	task, err = cl.CancelTask(ctx, agent, task.ID, "enough")
	if err != nil {
		return "", err
	}
	return string(task.Status), nil
}

// callOnce returns the error that the call ended with, as it has to.
func (p *bridged) callOnce(ctx context.Context, n *node, key, agent, message string) (said string, err error) {
	cl := client.New(n.rest, key)
	if p.kind == "mcp" {
		limited, cancel := context.WithTimeout(ctx, callWithin) // an MCP client that loses its patience
		defer cancel()
		res, err := cl.CallTool(limited, &client.Agent{MCPURL: n.mcp + "/" + agent + "/mcp"}, "work", json.RawMessage(`{"what":"`+message+`"}`))
		switch {
		case err != nil && limited.Err() == nil && !refused(err):
			return "", fmt.Errorf("the call ended with %w", err)
		case err != nil:
			return err.Error(), nil
		case !res.IsError:
			return "", fmt.Errorf("the call was answered %.100q", res.Text())
		}
		return res.Text(), nil
	}
	if slices.ContainsFunc(waits, func(name string) bool { return strings.Contains(message, name) }) {
		return p.cancelTask(ctx, cl, agent, message)
	}
	res, err := cl.Invoke(ctx, agent, client.InvokeRequest{Message: message, TimeoutMS: callWithin.Milliseconds()})
	switch {
	case err != nil && !refused(err):
		return "", fmt.Errorf("the call ended with %w", err)
	case err != nil:
		return err.Error(), nil
	case !res.IsError && !strings.HasPrefix(message, "attack by a million"): // which may end before the limit
		return "", fmt.Errorf("the call was answered %.100q", res.Text)
	}
	return fmt.Sprintf("%.100s", res.Text), nil
}
