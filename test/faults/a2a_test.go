package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// a2aEvent is what of a stream's events matters here.
type a2aEvent struct {
	Result struct {
		Task *struct {
			ID     string
			Status struct{ State string }
		}
		ArtifactUpdate *struct {
			Append   bool
			Artifact struct{ Parts []struct{ Text string } }
		}
		StatusUpdate *struct{ Status struct{ State string } }
	}
	Error json.RawMessage
}

// a2aReader is a client that watches one task, and comes back when it is cut
// off. What it has of the text is what the events say.
type a2aReader struct {
	t      *testing.T
	key    string
	agent  string
	task   string
	text   string
	chunks int
	ends   int
}

// open posts a call and hands on its events until the stream ends, or enough
// says so.
func (r *a2aReader) open(ctx context.Context, n *node, method, params string, enough func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	req, err := http.NewRequestWithContext(ctx, "POST", n.a2a+"/"+r.agent, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + r.key, "Content-Type": "application/json", "A2A-Version": "1.0"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var ev a2aEvent
		if err := json.Unmarshal(data, &ev); err != nil || ev.Error != nil {
			r.t.Fatalf("%s: %v", data, err)
		}
		if r.take(&ev); enough() {
			return
		}
	}
}

func (r *a2aReader) take(ev *a2aEvent) {
	switch res := ev.Result; {
	case res.Task != nil:
		r.task = res.Task.ID
	case res.ArtifactUpdate != nil:
		r.chunks++
		if !res.ArtifactUpdate.Append {
			r.text = ""
		}
		r.text += res.ArtifactUpdate.Artifact.Parts[0].Text
	case res.StatusUpdate != nil && res.StatusUpdate.Status.State == "TASK_STATE_COMPLETED":
		r.ends++
	}
}

// TestResubscribeAfterReplicaDies: the replica that serves a stream is killed
// again and again; the client comes back at the other one. In the end it has
// every number once, in order, and one end.
func TestResubscribeAfterReplicaDies(t *testing.T) {
	p := meshed(t)
	a := startAgent(t, "agent", spec{Name: "counter", Gateway: p.b.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.a.online(p.key, a.id, true)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const top = 1200 // six seconds of work, in which A starts anew
	r := &a2aReader{t: t, key: p.key, agent: a.id}
	whole := func() bool { return strings.HasSuffix(r.text, fmt.Sprintf(" %d ", top-1)) } // on a slow machine, before its turn
	far := func(n int) func() bool {                                                      // and then the power goes
		return func() bool {
			if r.chunks < n && !whole() {
				return false
			}
			p.a.proc.Kill()
			return false // read on until the connection breaks
		}
	}
	r.open(ctx, p.a, "SendStreamingMessage", fmt.Sprintf(`{"message":{"role":"ROLE_USER","messageId":"m","parts":[{"text":"count %d"}]}}`, top), far(40))
	subscribe := fmt.Sprintf(`{"id":%q}`, r.task)
	before := r.chunks
	r.open(ctx, p.b, "SubscribeToTask", subscribe, func() bool { return r.chunks > before+40 || whole() })
	p.a.start()
	r.open(ctx, p.a, "SubscribeToTask", subscribe, far(r.chunks+40))
	last := sync.OnceFunc(a.release)
	r.open(ctx, p.b, "SubscribeToTask", subscribe, func() bool { last(); return false })
	var want strings.Builder
	for i := range top {
		fmt.Fprintf(&want, "%d ", i)
	}
	if r.text != want.String() || r.ends != 1 {
		t.Errorf("%d ends; %d of %d bytes of text: %.200s…", r.ends, len(r.text), want.Len(), r.text)
	}
	t.Logf("%d chunks on four streams", r.chunks)
}
