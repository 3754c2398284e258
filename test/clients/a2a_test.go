//go:build unix

package clients

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
)

// a2aStep is one line of a2a.mjs.
type a2aStep struct {
	Step  string
	Text  string
	ID    string
	Kinds []string
	Total int
	State any
	Error string
}

// TestOfficialA2AClients: card, send, stream, list, cancel, push, resubscribe,
// with the A2A project's own JavaScript client of today and of 0.3, over both bindings.
func TestOfficialA2AClients(t *testing.T) {
	if testing.Short() {
		t.Skip("installs npm packages")
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	app := apptest.Start(t, apptest.Config(t))
	id := colours(t, app)
	for _, c := range []struct{ library, binding, cancelled, completed string }{
		{"1.3", "JSONRPC", "5", "3"},
		{"1.3", "HTTP+JSON", "5", "3"},
		{"0.3", "JSONRPC", "canceled", "completed"},
		{"0.3", "HTTP+JSON", "canceled", "completed"},
	} {
		t.Run(c.library+" "+c.binding, func(t *testing.T) {
			told := make(chan string, 100)
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- verified(r) }))
			defer receiver.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := tools.Node(ctx, "a2a.mjs", c.library, c.binding, filepath.Join(tools.Dir, "node_modules"), app.A2A+"/"+id, app.UserKey, receiver.URL)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			got := map[string]a2aStep{}
			for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
				var s a2aStep
				if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
					t.Fatalf("%q: %v", lines.Text(), err)
				}
				got[s.Step] = s
			}
			if err != nil {
				t.Fatalf("%v: %s", err, got["failed"].Error)
			}
			for name, ok := range map[string]bool{
				"card":        got["card"].Text == "colours",
				"send":        got["send"].Text == "you said: hello there" && got["send"].ID != "",
				"stream":      got["stream"].Text == "you said: one two three" && got["stream"].Kinds[0] == "task",
				"cancel":      fmt.Sprint(got["cancel"].State) == c.cancelled,
				"push":        got["push"].Total == 1 && got["push"].ID == "js",
				"resubscribe": fmt.Sprint(got["resubscribe"].State) == c.completed && got["resubscribe"].Text == "You chose blue",
				"missing":     strings.Contains(got["missing"].Error, "TaskNotFound"),
				"list":        c.library == "0.3" || got["list"].Total >= 2 && got["list"].Text == "you said: one two three",
			} {
				if !ok {
					t.Errorf("%s: %+v", name, got[name])
				}
			}
			awaitEnd(t, told)
		})
	}
}

// verified returns a notification's body, or what is wrong with its signature.
func verified(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "bad: " + err.Error()
	}
	stamp, mac, _ := strings.Cut(r.Header.Get("X-BeeOS-Signature"), ",v1=")
	h := hmac.New(sha256.New, []byte("sixteen letters!"))
	h.Write([]byte(strings.TrimPrefix(stamp, "t=") + "." + string(body))) //nolint:errcheck // it never fails
	if hex.EncodeToString(h.Sum(nil)) != mac {
		return "bad: the signature does not fit " + string(body)
	}
	return string(body)
}

func awaitEnd(t *testing.T, told <-chan string) {
	t.Helper()
	for {
		select {
		case body := <-told:
			switch {
			case strings.HasPrefix(body, "bad: "):
				t.Error(body)
				return
			case strings.Contains(strings.ToLower(body), "completed"):
				return
			}
		case <-time.After(20 * time.Second):
			t.Error("nobody was told of the end")
			return
		}
	}
}

// colours runs an agent that asks, waits or repeats.
func colours(t *testing.T, app *apptest.App) string {
	t.Helper()
	connected := make(chan string, 1)
	a, err := agent.New(agent.Options{
		Name: "colours", Description: "Knows colours.", Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "colours.json"),
		Connected: func(id string) {
			select {
			case connected <- id:
			default: // again
			}
		},
	}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		switch m.Text {
		case "pause":
			answer, err := r.InputRequired(ctx, "Which colour?", nil)
			if err != nil {
				return err
			}
			return r.Send("You chose " + answer.Text)
		case "wait":
			<-ctx.Done()
			return ctx.Err()
		}
		for _, piece := range strings.SplitAfter("you said: "+m.Text, " ") {
			if err := r.Delta(piece); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // awaited by the cleanup
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case id := <-connected:
		return id
	case err := <-ended:
		t.Fatalf("the agent did not connect: %v", err)
		return ""
	}
}
