package app_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
)

// TestSameWordsEveryWay: one prompt over MCP, REST in one piece, REST streamed
// and as a task gets one reply, to the byte, and its owner finds all four in
// one list. Somebody else finds none.
func TestSameWordsEveryWay(t *testing.T) {
	cfg := apptest.Config(t)
	a := apptest.Start(t, cfg)
	id := talker(t, a)
	cl := client.New(a.REST, a.UserKey)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const prompt = "tell me — <b>“all”</b> & everything\n\t\U0001f41d"
	want := said(prompt)

	ways := map[string]func() (string, error){
		"mcp": func() (string, error) {
			args, err := json.Marshal(map[string]string{"message": prompt})
			if err != nil {
				return "", err
			}
			r, err := cl.CallTool(ctx, &client.Agent{MCPURL: a.MCP + "/" + id + "/mcp"}, id, args)
			if err != nil {
				return "", err
			}
			return r.Text(), nil
		},
		"rest": func() (string, error) {
			r, err := cl.Invoke(ctx, id, client.InvokeRequest{Message: prompt})
			if err != nil {
				return "", err
			}
			return r.Text, nil
		},
		"rest, streamed": func() (string, error) { return streamed(cl.Stream(ctx, id, client.InvokeRequest{Message: prompt})) },
		"task": func() (string, error) {
			task, err := cl.CreateTask(ctx, id, client.TaskRequest{Message: prompt})
			if err != nil {
				return "", err
			}
			return watched(cl.WatchTask(ctx, id, task.ID))
		},
	}
	for name, ask := range ways {
		if got, err := ask(); err != nil || got != want {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(want, got))
		}
	}
	var listed []string
	for task, err := range cl.Tasks(ctx, client.TaskFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		full, err := cl.Task(ctx, task.AgentID, task.ID)
		if err != nil || full.Result == nil || full.Result.Text != want || full.Status != beeos.TaskCompleted {
			t.Errorf("task %s: %+v, %v", task.ID, full, err)
		}
		listed = append(listed, task.ID)
	}
	if len(listed) != len(ways) || !slices.IsSortedFunc(listed, func(x, y string) int { return strings.Compare(y, x) }) {
		t.Errorf("%d tasks are listed, want %d, newest first: %v", len(listed), len(ways), listed)
	}
	for task, err := range client.New(a.REST, stranger(t, cfg)).Tasks(ctx, client.TaskFilter{}) {
		t.Errorf("somebody else sees %+v, %v", task, err)
	}
}

// streamed puts an answer together from its pieces, which must be the answer.
func streamed(events func(func(client.Event, error) bool)) (string, error) {
	var pieces strings.Builder
	for ev, err := range events {
		if err != nil {
			return "", err
		}
		pieces.WriteString(ev.Delta)
		if ev.Done != nil && ev.Done.Text != pieces.String() {
			return "pieces: " + pieces.String() + " whole: " + ev.Done.Text, nil
		}
	}
	return pieces.String(), nil
}

// watched is the last word of a task, unless its pieces say otherwise.
func watched(updates func(func(client.Update, error) bool)) (text string, err error) {
	live := ""
	for u, err := range updates {
		switch {
		case err != nil:
			return "", err
		case u.SoFar:
			live = u.Message.Body
		case u.Delta:
			live += u.Message.Body
		default:
			text = u.Message.Body
		}
	}
	if !strings.HasPrefix(text, live) {
		return "pieces: " + live + " whole: " + text, nil
	}
	return text, nil
}

// said is the reply of a talker.
func said(prompt string) string {
	return "You said:\n" + strings.ToUpper(prompt) + "\n— and that’s “it”."
}

// stranger returns the key of somebody else.
func stranger(t *testing.T, cfg config.Config) string {
	t.Helper()
	_, key, err := app.IssueKey(t.Context(), cfg, "stranger@example.com", beeos.Key{Name: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// talker connects an agent that answers piece by piece until the test ends.
func talker(t *testing.T, a *apptest.App) string {
	t.Helper()
	return a.Connect(t, agent.Options{Name: "talker"}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		for piece := range strings.SplitAfterSeq(said(m.Text), " ") {
			if err := r.Delta(piece); err != nil {
				return err
			}
		}
		return nil
	})
}
