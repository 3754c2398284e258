// Package sdk drives BeeOS with an SDK that a public generator makes from
// api/openapi.yaml: drive.ts is a program against it, compiled strictly, so that
// both what the document says and what the server does must fit. Those of other
// generators are in generators_test.go; they keep the names of the published SDK
// (published.txt).
package sdk

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/api"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
)

//go:embed drive.ts
var program []byte

const within = 3 * time.Minute

// TestGeneratedSDK: files, tasks, watching, cancel, webhooks and conversations
// by code that nobody of ours wrote.
func TestGeneratedSDK(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tools, err := npm.Install(ctx)
	if err != nil {
		t.Fatal(err)
	}
	script := compile(ctx, t, tools)

	a := apptest.Start(t, apptest.Config(t))
	srv := httptest.NewServer(&receiver{last: map[string]string{}})
	defer srv.Close()
	cmd := tools.Node(ctx, script, a.REST, a.UserKey, reader(t, a), srv.URL)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var got seen
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	got.File.ID = ""
	if diff := cmp.Diff(wanted(), got); diff != "" {
		t.Errorf("what the SDK saw (-want +got):\n%s", diff)
	}
}

// seen is what drive.ts prints.
type seen struct {
	File struct {
		ID      string
		Put     int
		Size    int
		Content string
	}
	Task struct {
		Created string
		Seen    struct {
			Text, End, Last string
			Types           []string
		}
		Status, Text string
		Listed       bool
	}
	Cancelled struct {
		Status, Told string
		Hooks        int
		Deliveries   bool
	}
	Conversation struct {
		Types  []string
		Stored int
	}
	Refused struct {
		Status int
		Code   string
	}
}

func wanted() (w seen) {
	const content = "from the SDK"
	answer := answerTo("read this", content)
	w.File.Put, w.File.Size, w.File.Content = 200, len(content), content
	w.Task.Created, w.Task.Status, w.Task.Text, w.Task.Listed = "queued", "completed", answer, true
	w.Task.Seen.Text, w.Task.Seen.Last, w.Task.Seen.End = answer, answer, "task_terminal"
	w.Task.Seen.Types = []string{"chat_message", "agent.input_required", "user.continue", "agent_reply"}
	w.Cancelled.Status, w.Cancelled.Told, w.Cancelled.Hooks, w.Cancelled.Deliveries = "canceled", "canceled", 1, true
	w.Conversation.Types, w.Conversation.Stored = []string{"agent_reply", "agent_reply", "chat_message", "chat_message"}, 4
	w.Refused.Status, w.Refused.Code = 404, "agent_not_found"
	return w
}

// compile generates the SDK and compiles the program against it, strictly.
func compile(ctx context.Context, t *testing.T, tools *npm.Tools) (script string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"openapi.json": api.JSON, "drive.ts": program} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, tools.Node(ctx, tools.Module("@hey-api/openapi-ts/bin/run.js"), "--input", "openapi.json", "--output", "sdk", "--no-log-file"))
	run(t, dir, tools.Node(ctx, tools.Module("typescript/bin/tsc"), "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2023,dom,dom.iterable,dom.asynciterable",
		"--module", "commonjs", "--moduleResolution", "node", "--outDir", "out", "drive.ts"))
	return filepath.Join(dir, "out", "drive.js")
}

func run(t *testing.T, dir string, cmd *exec.Cmd) {
	t.Helper()
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// receiver takes webhooks, and tells what it last heard of a task.
type receiver struct {
	mu   sync.Mutex
	last map[string]string // task -> status
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method == http.MethodGet {
		fmt.Fprint(w, r.last[req.URL.Query().Get("task")]) //nolint:errcheck // who asked asks again
		return
	}
	var news struct {
		TaskID string `json:"task_id"`
		Status string `json:"status"`
	}
	if err := json.NewDecoder(req.Body).Decode(&news); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.last[news.TaskID] = news.Status
}

func answerTo(text, attached string) string { return fmt.Sprintf("to %s: %s", text, attached) }

// reader connects an agent that reads what is attached until the test ends.
func reader(t *testing.T, a *apptest.App) string {
	t.Helper()
	return a.Connect(t, agent.Options{Name: "reader"}, answer)
}

func answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	if m.Text == "wait" {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	attached := ""
	for _, f := range m.Attachments {
		b, err := f.Download(ctx)
		if err != nil {
			return err
		}
		attached += string(b)
	}
	for piece := range strings.SplitAfterSeq(answerTo(m.Text, attached), " ") {
		if err := r.Delta(piece); err != nil {
			return err
		}
	}
	if attached != "" { // so that who watches has time to see what was said
		_, err := r.InputRequired(ctx, "is that all?", nil)
		return err
	}
	return nil
}
