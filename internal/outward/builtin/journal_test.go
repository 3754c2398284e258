package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
)

// wire is a connection to the gateway that can be cut for good. Who is behind
// it lives on and does not know that others have its work: the worst there is.
type wire struct {
	URL string

	listener net.Listener
	mu       sync.Mutex
	ends     []net.Conn
	cut      bool
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{URL: "http://" + ln.Addr().String(), listener: ln}
	var copying sync.WaitGroup
	copying.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
			if err != nil || !w.hold(near, far) {
				near.Close()
				continue
			}
			copying.Go(func() { io.Copy(far, near); far.Close() })  //nolint:errcheck // until it is cut
			copying.Go(func() { io.Copy(near, far); near.Close() }) //nolint:errcheck // until it is cut
		}
	})
	t.Cleanup(func() {
		w.sever()
		copying.Wait()
	})
	return w
}

func (w *wire) hold(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, ends...)
	if w.cut {
		for _, c := range ends {
			c.Close()
		}
	}
	return !w.cut
}

func (w *wire) sever() {
	w.listener.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, c := range w.ends {
		c.Close()
	}
}

// relay is a request that goes from one runtime, which is cut off, to another.
type relay struct {
	*stack
	wire    *wire
	srv     *server
	thought atomic.Int64  // times that a model was asked for a call
	ended   chan struct{} // receives whenever one was asked for an end

	reached chan struct{} // the first runtime has got where it is to be cut off
	resume  chan struct{} // closed: the first runtime goes on, too late
}

// model asks for a call with other arguments each time that it is asked.
func (h *relay) model(first bool, at string) llm.Model {
	return llm.Script(func(r llm.Request) []llm.Delta {
		last := r.Messages[len(r.Messages)-1]
		if last.Role != llm.ToolRole {
			arguments := json.RawMessage(fmt.Sprintf(`{"filename": "<try>-%d", "rows": []}`, h.thought.Add(1)))
			return []llm.Delta{{Text: "Saving <it>."}, {Call: &llm.Call{ID: "c1", Name: "files__save_csv", Arguments: arguments}}}
		}
		h.ended <- struct{}{}
		if first && at == "end" {
			h.wait()
		}
		return llm.Say("The tool says: " + last.Text)
	})
}

// wait is where the first runtime stands when it is cut off.
func (h *relay) wait() {
	h.reached <- struct{}{}
	<-h.resume
}

func (h *relay) approve(first bool, at string) func(context.Context, *agent.Reply, answer.Approval) error {
	return func(_ context.Context, _ *agent.Reply, a answer.Approval) error {
		if a.Key != "step-1-1" || !strings.Contains(string(a.Arguments), `"<try>-1"`) {
			return fmt.Errorf("asked about %s with %s", a.Key, a.Arguments)
		}
		if first && at == "gate" {
			h.wait()
		}
		return nil
	}
}

// TestAnotherInstanceGoesOn cuts an instance off at one place after the other
// and lets another have its request. The tool runs once, with the arguments
// that the first model chose, or may have run and the model is told; and the
// one that was cut off does not make up for it when it comes to.
func TestAnotherInstanceGoesOn(t *testing.T) {
	for at, want := range map[string]string{
		"gate": "Saving <it>.\n\nThe tool says: CSV saved to /shared/invoices/<try>-1.csv (0 rows)",
		"call": "Saving <it>.\n\nThe tool says: the agent was interrupted while it made this call: it may have been carried out",
		"end":  "Saving <it>.\n\nThe tool says: CSV saved to /shared/invoices/<try>-1.csv (0 rows)",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel() // at the end it waits for the one that was cut off
			h := &relay{stack: serve(t), srv: skillServer(t), ended: make(chan struct{}, 4), reached: make(chan struct{}), resume: make(chan struct{})}
			if at == "call" {
				mcp.AddTool(h.srv.mcp, &mcp.Tool{Name: "save_csv", Description: "Save parsed invoice data as a CSV file to the shared drive"}, func(ctx context.Context, r *mcp.CallToolRequest, in csv) (*mcp.CallToolResult, any, error) {
					h.wait()
					return h.srv.save(ctx, r, in)
				})
			}
			h.wire = newWire(t, h.Agents)
			release := sync.OnceFunc(func() { close(h.resume) })
			defer release()
			h.rt = h.run(t, builtin.Options{Model: h.model(true, at), Approve: h.approve(true, at)}, h.wire.URL)
			_, id := h.create(t, builtin.Definition{Name: "clerk", Servers: files(h.srv.URL, false)}, nil)

			type end struct {
				answer *client.Answer
				err    error
			}
			said := make(chan end, 1)
			go func() {
				a, err := client.New(h.REST, h.UserKey).Invoke(t.Context(), id, client.InvokeRequest{Message: "save it", TimeoutMS: 60_000})
				said <- end{a, err}
			}()
			select {
			case <-h.reached:
			case got := <-said:
				t.Fatalf("it ended with %+v, %v", got.answer, got.err)
			}
			h.wire.sever()
			h.run(t, builtin.Options{Model: h.model(false, at), Approve: h.approve(false, at)}, h.Agents)
			got := <-said
			if got.err != nil || !strings.HasPrefix(got.answer.Text, want) || got.answer.IsError {
				t.Fatalf("%+v, %v", got.answer, got.err)
			}
			if n := h.thought.Load(); n != 1 {
				t.Errorf("the model was asked %d times what to do", n)
			}
			release()
			for range 2 { // whatever the first was at, it goes on to the end
				<-h.ended
			}
			if files := h.srv.files(); len(files) != 1 || files[0] != "<try>-1" {
				t.Errorf("saved %q", files)
			}
		})
	}
}
