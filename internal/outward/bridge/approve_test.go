package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// TestProgramsAskForApproval: a program and an endpoint have the owner decide about a tool,
// and are told how. An answer that ends without waiting takes its question
// along.
func TestProgramsAskForApproval(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // it does not say what it offers
			http.Error(w, "POST", http.StatusMethodNotAllowed)
			return
		}
		var m struct {
			ID, Text string
			Decision *struct {
				Request, Reason string
				Approved        bool
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case m.Decision == nil:
			fmt.Fprint(w, "data: {\"delta\":\"asking: \"}\n\ndata: {\"approve\":{\"request\":\"q1\",\"tool\":\"save_csv\",\"arguments\":{\"path\":\"a.csv\"}}}\n\n")
		case r.Header.Get("Idempotency-Key") == m.ID+"-q1" && m.Text == "save":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"reply":"%s %v %s"}`, m.Decision.Request, m.Decision.Approved, m.Decision.Reason)
		}
	}))
	t.Cleanup(endpoint.Close)
	program := bridgetest.Connect(t, app, &bridgetest.Journal{}, "program", func(ctx context.Context, o agent.Options) error {
		return (&exec.Options{Command: bridgetest.Command(self)}).Run(ctx, settings.Bridge{Env: append(os.Environ(), "BRIDGE_TEST_PROGRAM=1"), Agent: o})
	})
	service := bridgetest.Connect(t, app, &bridgetest.Journal{}, "service", func(ctx context.Context, o agent.Options) error {
		return (&httpbridge.Options{URL: endpoint.URL}).Run(ctx, settings.Bridge{Agent: o})
	})
	c := client.New(app.REST, app.UserKey)
	for _, step := range []struct {
		agent   string
		approve bool
		want    string
	}{
		{program, true, "q1 true "}, {program, false, "q1 false wrong folder"}, {service, true, "asking: q1 true "}, {service, false, "asking: q1 false wrong folder"},
	} {
		answer := make(chan string, 1)
		go func() { // awaited below
			got, err := c.Invoke(t.Context(), step.agent, client.InvokeRequest{Message: "save"})
			if err != nil {
				answer <- err.Error()
				return
			}
			answer <- got.Text
		}()
		a := bridgetest.AwaitApproval(t, c)
		if a.Tool != "save_csv" || string(a.Arguments) != `{"path":"a.csv"}` {
			t.Errorf("asked about %+v", a)
		}
		if step.approve {
			_, err = c.Approve(t.Context(), a.ID)
		} else {
			_, err = c.Reject(t.Context(), a.ID, "wrong folder")
		}
		if got := <-answer; err != nil || got != step.want {
			t.Errorf("%q, %v, want %q", got, err, step.want)
		}
	}
	if got, err := c.Invoke(t.Context(), program, client.InvokeRequest{Message: "give up"}); err != nil || got.Text != "never mind" {
		t.Errorf("%+v, %v", got, err)
	}
}
