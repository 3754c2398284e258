package call

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/test/enginetest"
)

// TestRefusedCallIsNotHandedOver: a call that is refused when its client has
// already waited long enough was never a task, and says why it is none.
func TestRefusedCallIsNotHandedOver(t *testing.T) {
	run := newTestRunner(t)
	for name, tt := range map[string]struct {
		err  error
		want beeos.Code
	}{
		"refused":     {beeos.Errorf(beeos.AgentOffline, "nobody is there"), beeos.AgentOffline},
		"interrupted": {context.Canceled, beeos.AgentServiceUnavailable},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		x := &Client{Runner: run, HTTP: r, Agent: &beeos.Agent{}, Version: wire.V20260728, Out: wire.NewResponder(httptest.NewRecorder(), r)}
		c := &activeCall{x: x, m: &wire.Message{ID: []byte("1"), Method: "tools/call"}, handOverAfter: time.Millisecond, handOverResult: wire.CreatedTask}
		c.req.TurnID = beeos.NewID()
		c.followEvents(t.Context(), func(ctx context.Context, _ *invoke.Request) iter.Seq2[beeos.Event, error] {
			return func(yield func(beeos.Event, error) bool) {
				<-ctx.Done()
				yield(beeos.Event{}, tt.err)
			}
		})
		if beeos.CodeOf(c.outcome.Err) != tt.want {
			t.Errorf("%s: %v", name, c.outcome.Err)
		}
	}
}

// TestCancelEndsOneRequest: a client cancels by the id of its request, and
// nothing is remembered of a request that has ended.
func TestCancelEndsOneRequest(t *testing.T) {
	run := newTestRunner(t)
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	x := &Client{Runner: run, HTTP: r, Agent: &beeos.Agent{}, Version: wire.V20251125, Out: wire.NewResponder(httptest.NewRecorder(), r)}
	x.Session = sessions.NewSession(wire.V20251125, 0, time.Now())
	c := &activeCall{x: x, m: &wire.Message{ID: []byte("1"), Method: "prompts/get"}}
	c.req.TurnID, c.req.Channel = beeos.NewID(), x.Session.Channel
	c.followEvents(t.Context(), func(ctx context.Context, _ *invoke.Request) iter.Seq2[beeos.Event, error] {
		return func(yield func(beeos.Event, error) bool) {
			x.HandleCancelled([]byte(`{"requestId":2}`))
			if ctx.Err() != nil {
				t.Error("the cancel of another request ended it")
			}
			x.HandleCancelled([]byte(`{"requestId":1}`))
			<-ctx.Done()
			yield(beeos.Event{}, ctx.Err())
		}
	})
	if beeos.CodeOf(c.outcome.Err) != beeos.Conflict {
		t.Error(c.outcome.Err)
	}
	for name := range run.pending.Range {
		t.Errorf("%v is still registered", name)
	}
}

// newTestRunner is a runner on real stores.
func newTestRunner(t *testing.T) *Runner {
	t.Helper()
	db, b, l := enginetest.Open(t)
	calls := invoke.New(invoke.Options{Agents: db.Agents, Approvals: db.Approvals, Cluster: db.Cluster, Ledger: l, Bus: b})
	return NewRunner(Options{Sessions: db.Sessions, Calls: calls, Bus: b, Catalog: catalog.New(db.Agents, calls, time.Now), Log: slog.New(slog.DiscardHandler), Now: time.Now, Context: context.Background()})
}
