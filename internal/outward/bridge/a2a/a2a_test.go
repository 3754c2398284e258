package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// far is the agent that others reach over A2A: it does what it is told, and
// says on cancelled when it is told to stop.
func far(stopped chan<- struct{}) agent.Handler {
	return func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		switch m.Text {
		case "pause":
			said, err := r.InputRequired(ctx, "Which colour?", nil)
			if err != nil {
				return err
			}
			return r.Send("You chose " + said.Text + contents(ctx, said.Parts, said.Attachments))
		case "consent":
			said, err := r.AuthRequired(ctx, "May I?", nil)
			if err != nil {
				return err
			}
			var p struct {
				Grant bool `json:"auth_grant"`
			}
			return r.Send(fmt.Sprint("granted: ", json.Unmarshal(said.Payload, &p) == nil && p.Grant))
		case "wait":
			_ = r.Delta("waiting")
			<-ctx.Done()
			stopped <- struct{}{}
			return ctx.Err()
		case "fail":
			return r.Fail("it broke")
		case "refuse":
			return r.Refuse("not today")
		case "count":
			all, err := r.History(ctx)
			n := 0
			for _, h := range all {
				if h.Type == beeos.ChatMessage {
					n++
				}
			}
			return r.Send(fmt.Sprintf("message %d, %v", n, err))
		case "who":
			return r.Send(m.Metadata["a2a_agent_id"] + " " + m.Metadata["call_chain"])
		case "files":
			if _, err := r.Attach(ctx, "bytes.txt", "text/plain", strings.NewReader("made far away")); err != nil {
				return err
			}
			if err := r.Part(map[string]string{"type": "file", "url": "https://files.example.com/a.png", "mime_type": "image/png", "name": "a.png"}); err != nil {
				return err
			}
			_ = r.Structured(json.RawMessage(`{"n":9007199254740993}`))
			return r.Send("got" + contents(ctx, m.Parts, m.Attachments))
		}
		for piece := range strings.SplitAfterSeq("you said: "+m.Text, " ") {
			_ = r.Delta(piece)
		}
		return nil
	}
}

// contents are the files that came along: bytes, or addresses.
func contents(ctx context.Context, raw json.RawMessage, files []agent.Attachment) string {
	var parts []struct {
		Type, URL, Name string
		FileID          string `json:"file_id"`
	}
	_ = json.Unmarshal(raw, &parts) // none
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "file" && p.FileID == "" {
			fmt.Fprintf(&b, " %s=%s", p.Name, p.URL)
		}
	}
	for _, f := range files {
		text, err := f.Download(ctx)
		fmt.Fprintf(&b, " %s=%s %v", f.Filename, text, err)
	}
	return b.String()
}

// reexposed runs far and, behind a bridge, itself once more.
func reexposed(t *testing.T, app *apptest.App, stopped chan<- struct{}) (farID, id string) {
	t.Helper()
	farID = bridgetest.Connect(t, app, &bridgetest.Journal{}, "far", func(ctx context.Context, o agent.Options) error {
		o.Description = "Far away."
		return agent.Run(ctx, o, far(stopped))
	})
	id = bridgetest.Connect(t, app, &bridgetest.Journal{}, "near", func(ctx context.Context, o agent.Options) error {
		return (&a2a.Options{URL: app.A2A + "/" + farID + "/"}).Run(ctx, settings.Bridge{Header: http.Header{"Authorization": {"Bearer " + app.UserKey}}, Agent: o})
	})
	return farID, id
}

// TestAnswersAreTheSameBehindABridge: an agent that is reached over A2A says the same words, and
// takes and gives the same files, as if it were here; by every dialect.
func TestAnswersAreTheSameBehindABridge(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	stopped := make(chan struct{}, 16)
	farID, id := reexposed(t, app, stopped)
	c := client.New(app.REST, app.UserKey)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	key, err := c.CreateKey(ctx, farID, client.KeyRequest{Name: "old"})
	if err != nil {
		t.Fatal(err)
	}
	old := bridgetest.Connect(t, app, &bridgetest.Journal{}, "old", func(ctx context.Context, o agent.Options) error {
		return (&a2a.Options{URL: app.A2A + "/" + farID + "/.well-known/agent.json"}).Run(ctx, settings.Bridge{Header: http.Header{"X-Agent-Api-Key": {key.Secret}}, Agent: o})
	})
	card, err := c.Agent(ctx, id)
	if err != nil || card.Description != "Far away." || len(card.Skills) != 1 || card.Skills[0].Name != "far" {
		t.Errorf("%+v, %v", card, err)
	}
	const prompt = "<b>Grüße</b> & 你好 \u2028 \"quoted\" \\ 😀"
	args, err := json.Marshal(map[string]string{"message": prompt})
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() (string, error){
		"rest": func() (string, error) {
			r, err := c.Invoke(ctx, id, client.InvokeRequest{Message: prompt})
			return r.Text, err
		},
		"rest, 0.3 behind": func() (string, error) {
			r, err := c.Invoke(ctx, old, client.InvokeRequest{Message: prompt})
			return r.Text, err
		},
		"mcp": func() (string, error) {
			r, err := c.CallTool(ctx, &client.Agent{MCPURL: app.MCP + "/" + id + "/mcp"}, "far", args)
			if err != nil {
				return "", err
			}
			return r.Text(), nil
		},
		"streamed": func() (string, error) { return pieces(c.Stream(ctx, id, client.InvokeRequest{Message: prompt})) },
		"a2a": func() (string, error) {
			return pieces(c.StreamA2A(ctx, &client.Agent{ID: id, A2AURL: app.A2A + "/" + id}, client.InvokeRequest{Message: prompt}))
		},
	} {
		if got, err := ask(); err != nil || got != "you said: "+prompt {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for text, want := range map[string]string{"fail": "it broke", "who": id + " " + id} {
		if got, err := c.Invoke(ctx, id, client.InvokeRequest{Message: text}); got == nil || got.Text != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if _, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "refuse"}); beeos.CodeOf(err) != beeos.Conflict || !strings.Contains(err.Error(), "not today") {
		t.Errorf("refuse: %v", err)
	}
}

func pieces(events func(func(client.Event, error) bool)) (string, error) {
	var b strings.Builder
	for ev, err := range events {
		if err != nil {
			return b.String(), err
		}
		if b.WriteString(ev.Delta); ev.Done != nil && ev.Done.Text != b.String() {
			return fmt.Sprintf("%q whole, %q in pieces", ev.Done.Text, b.String()), nil
		}
	}
	return b.String(), nil
}

// TestContextSurvivesRestart: a conversation here is one there, also for a bridge that has
// just been started.
func TestContextSurvivesRestart(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	identity := filepath.Join(t.TempDir(), "id.json")
	farID := bridgetest.Connect(t, app, &bridgetest.Journal{}, "far", func(ctx context.Context, o agent.Options) error { return agent.Run(ctx, o, far(nil)) })
	c := client.New(app.REST, app.UserKey)
	channel := ""
	for round := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		id, done := make(chan string, 16), make(chan error, 1)
		go func() { // awaited below
			done <- (&a2a.Options{URL: app.A2A + "/" + farID}).Run(ctx, settings.Bridge{
				Header: http.Header{"Authorization": {"Bearer " + app.UserKey}},
				Agent:  agent.Options{Name: "near", Gateway: app.Agents, Key: app.UserKey, Identity: identity, Connected: func(a string) { id <- a }},
			})
		}()
		near := <-id
		for i := range 2 {
			got, err := c.Invoke(t.Context(), near, client.InvokeRequest{Message: "count", ContextID: channel})
			if want := fmt.Sprintf("message %d, <nil>", 2*round+i+1); err != nil || got.Text != want {
				t.Fatalf("%+v, %v, want %q", got, err, want)
			}
			channel = got.ContextID
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.Stat(identity); err != nil || got.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestQuestionsAndCancelReachPeer: questions of the other agent are questions of ours, and
// cancelling reaches it.
func TestQuestionsAndCancelReachPeer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	stopped := make(chan struct{}, 16)
	_, id := reexposed(t, app, stopped)
	c := client.New(app.REST, app.UserKey)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	paused := func(text string, want beeos.TaskStatus) *client.Task {
		t.Helper()
		task, err := c.CreateTask(ctx, id, client.TaskRequest{Message: text})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.WatchTask(ctx, id, task.ID) {
			now, err2 := c.Task(ctx, id, task.ID)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if now.Status == want {
				return now
			}
		}
		t.Fatalf("%s: never %s", text, want)
		return nil
	}
	last := func(id, task string) string {
		t.Helper()
		text := ""
		for u, err := range c.WatchTask(ctx, id, task) {
			if err != nil {
				t.Fatal(err)
			}
			if !u.Delta && !u.SoFar {
				text = u.Message.Body
			}
		}
		return text
	}
	task := paused("pause", beeos.TaskInputRequired)
	if _, err := c.ContinueTask(ctx, id, task.ID, "blue"); err != nil {
		t.Fatal(err)
	}
	if got := last(id, task.ID); got != "You chose blue" {
		t.Errorf("continued: %q", got)
	}
	for _, granted := range []bool{true, false} {
		task = paused("consent", beeos.TaskAuthRequired)
		if _, err := c.GrantTask(ctx, id, task.ID, granted); err != nil {
			t.Fatal(err)
		}
		if got := last(id, task.ID); got != fmt.Sprint("granted: ", granted) {
			t.Errorf("%v: %q", granted, got)
		}
	}
	task = paused("wait", beeos.TaskRunning)
	for u, err := range c.WatchTask(ctx, id, task.ID) { // until the far agent has begun
		if err != nil || strings.Contains(u.Message.Body, "waiting") {
			break
		}
	}
	if _, err := c.CancelTask(ctx, id, task.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stopped:
	case <-ctx.Done():
		t.Error("the agent behind was not told")
	}
}

// TestFilesGoBothWays: bytes and addresses, there and back.
func TestFilesGoBothWays(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	_, id := reexposed(t, app, nil)
	c := client.New(app.REST, app.UserKey)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f, err := c.Upload(ctx, "note.txt", "text/plain", strings.NewReader("from here"), 9)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER","messageId":"f1","parts":[{"text":"files"},` +
		`{"url":"beeos:` + f.FileID + `"},{"raw":"aGVsbG8=","filename":"raw.txt","mediaType":"text/plain"},{"url":"https://x.example.com/p.pdf","filename":"p.pdf","mediaType":"application/pdf"}]}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, app.A2A+"/"+id, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + app.UserKey, "Content-Type": "application/json", "A2A-Version": "1.0"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Result struct {
			Task struct {
				Artifacts []struct {
					Parts []struct {
						Text, URL, Filename string
						Data                json.RawMessage
						Metadata            struct {
							FileID string `json:"file_id"`
						}
					}
				}
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	a := got.Result.Task.Artifacts
	if len(a) != 4 {
		t.Fatalf("%+v", a)
	}
	want := "got raw.txt=data:text/plain;base64,aGVsbG8= p.pdf=https://x.example.com/p.pdf note.txt=data:text/plain;base64,ZnJvbSBoZXJl"
	if a[0].Parts[0].Text != want {
		t.Errorf("%q, want %q", a[0].Parts[0].Text, want)
	}
	if a[2].Parts[0].URL != "https://files.example.com/a.png" || string(a[3].Parts[0].Data) != `{"n":9007199254740993}` {
		t.Errorf("%+v", a)
	}
	// What the far agent made is by address, as its own gateway gave it.
	back, err := http.Get(a[1].Parts[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Body.Close()
	text := make([]byte, 100)
	n, _ := back.Body.Read(text)
	if string(text[:n]) != "made far away" {
		t.Errorf("%s %q", back.Status, text[:n])
	}
}

// TestCirclesAreStopped: agents that lead to each other in a circle stop.
func TestCirclesAreStopped(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	header := http.Header{"Authorization": {"Bearer " + app.UserKey}}
	// first is there before it knows where it leads: its card is a file of ours.
	first := bridgetest.Connect(t, app, &bridgetest.Journal{}, "first", func(ctx context.Context, o agent.Options) error { return agent.Run(ctx, o, far(nil)) })
	second := bridgetest.Connect(t, app, &bridgetest.Journal{}, "second", func(ctx context.Context, o agent.Options) error {
		return (&a2a.Options{URL: app.A2A + "/" + first}).Run(ctx, settings.Bridge{Header: header, Agent: o})
	})
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER","messageId":"l1","parts":[{"text":"hi"}]}}}`
	for chain, want := range map[string]string{
		"a,b," + second:   "already working on this",
		"a," + first:      "already working on this", // told by the gateway that second asks
		"a,b,c,d,e,f,g,h": "8 agents have called each other in a row",
		"a,b,c,d,e,f,g":   "8 agents have called each other in a row", // one more than it takes second to get there
		"a,b,c,d,e,f":     "you said: hi",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.A2A+"/"+second, strings.NewReader(strings.Replace(body, "l1", chain, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + app.UserKey, "Content-Type": "application/json", "A2A-Version": "1.0", "X-A2A-Call-Chain": chain} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var got json.RawMessage
		err = json.NewDecoder(resp.Body).Decode(&got)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, %v, want %q", chain, got, err, want)
		}
	}
}
