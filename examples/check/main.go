// Check is the agent that beeos agent check tries: a tool for each thing that an
// agent can do (sdk/spec/check.md says what they are). Beside it are the same agent
// in Python and TypeScript, and as a program for beeos connect --exec.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// turn is one call of a tool.
type turn struct {
	agent.Message
	*agent.Reply
	said string
}

// tools are what the agent does, by what it is told.
var tools = map[string]func(ctx context.Context, t turn) error{
	"who":   func(_ context.Context, t turn) error { return t.Send(me) },
	"count": func(_ context.Context, t turn) error { return t.Send(strconv.Itoa(begun.get(t.said))) },
	"tally": func(_ context.Context, t turn) error {
		return t.Send(fmt.Sprint(t.said, " ", begun.get("tally "+t.said)))
	},
	"stream":   stream,
	"think":    think,
	"progress": progress,
	"log":      tellLog,
	"wait":     wait,
	"elicit":   elicit,
	"approve":  approve,
	"pause":    pause,
	"confirm":  confirm,
	"files":    files,
	"meet":     meet,
	"steps":    steps,
	"usage":    usage,
	"fail":     func(_ context.Context, t turn) error { return errors.New(t.said) },
	"refuse":   func(_ context.Context, t turn) error { return t.Refuse(t.said) },
	"hold":     hold,
	"release":  release,
	"slow":     slow,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := agent.Options{Name: "check", Description: "Does what beeos agent check asks for.", Redelivery: beeos.RedeliverAlways, Tools: []agent.Tool{
		{
			Name: "add", Description: "Adds two numbers.", Handle: add,
			Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`),
		},
		{
			Name: "echo", Description: "Returns its arguments.",
			Handle: func(_ context.Context, m agent.Message, r *agent.Reply) error { return r.Structured(m.Arguments) },
		},
	}}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		o.Tools = append(o.Tools, agent.Tool{Name: name, Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)})
	}
	if err := agent.Run(ctx, o, answer); err != nil {
		log.Fatal(err)
	}
}

// answer does what a tool does, whether that is called or its name is said. Other
// messages are said back.
func answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	name, said, _ := strings.Cut(m.Text, " ")
	if m.Tool != "" {
		var in struct{ Text string }
		if err := m.Bind(&in); err != nil {
			return err
		}
		name, said = m.Tool, in.Text
	}
	do, known := tools[name]
	if !known {
		_ = r.Delta("you said: ") // who gave up is told by the context
		return r.Send(m.Text)
	}
	begun.add(name)
	begun.add(name + " " + said)
	return do(ctx, turn{m, r, said})
}

var me = strconv.Itoa(os.Getpid())

// counters are what this process has done.
type counters struct {
	mu   sync.Mutex
	of   map[string]int
	more *sync.Cond
}

var begun = newCounters()

func newCounters() *counters {
	c := &counters{of: map[string]int{}}
	c.more = sync.NewCond(&c.mu)
	return c
}

func (c *counters) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[what]++
	c.more.Broadcast()
}

func (c *counters) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[what]
}

// await waits until something has been done so often.
func (c *counters) await(ctx context.Context, what string, n int) error {
	defer context.AfterFunc(ctx, c.more.Broadcast)()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.of[what] < n && ctx.Err() == nil {
		c.more.Wait()
	}
	return ctx.Err()
}

func add(_ context.Context, m agent.Message, r *agent.Reply) error {
	var in struct{ A, B int }
	if err := m.Bind(&in); err != nil {
		return err
	}
	begun.add("add")
	return r.Send(strconv.Itoa(in.A + in.B))
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func stream(ctx context.Context, t turn) error {
	n, err := strconv.Atoi(t.said)
	if err != nil {
		return err
	}
	for i := range n {
		if err := t.Delta(fmt.Sprint(i+1, " ")); err != nil {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func think(_ context.Context, t turn) error {
	if err := t.Reasoning("thinking about " + t.said); err != nil {
		return err
	}
	return t.Send("thought about " + t.said)
}

func progress(_ context.Context, t turn) error {
	if err := t.Progress(1, 2, "half way"); err != nil {
		return err
	}
	return t.Send("done")
}

func tellLog(_ context.Context, t turn) error {
	t.Log(slog.LevelWarn, "check", "it is getting late")
	return t.Send("done")
}

func wait(ctx context.Context, t turn) error {
	_ = t.Delta("waiting") // the context tells the same
	<-ctx.Done()
	begun.add("cancelled")
	return ctx.Err()
}

func elicit(ctx context.Context, t turn) error {
	got, err := t.Elicit(ctx, "What is your name?", json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`))
	if err != nil {
		return err
	}
	in := struct{ Name string }{"nobody"}
	if got.Accepted() {
		if err := json.Unmarshal(got.Content, &in); err != nil {
			return err
		}
	}
	return t.Send("hello " + in.Name)
}

func approve(ctx context.Context, t turn) error {
	err := t.Approve(ctx, "write_file", map[string]string{"path": t.said})
	if denied, ok := errors.AsType[*agent.Denied](err); ok {
		return t.Send("not saved: " + denied.Reason)
	}
	if err != nil {
		return err
	}
	return t.Send("saved " + t.said)
}

func pause(ctx context.Context, t turn) error {
	if err := t.Delta("one moment. "); err != nil {
		return err
	}
	said, err := t.InputRequired(ctx, "Which one?", nil)
	if err != nil {
		return err
	}
	return t.Send("you chose " + said.Text)
}

func confirm(_ context.Context, t turn) error {
	if t.State == "" {
		return t.NeedInput(map[string]agent.Question{"sure": {Method: "elicitation/create", Params: map[string]any{
			"message": "Sure?", "requestedSchema": json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
		}}}, "asked")
	}
	var sure struct{ Content struct{ OK bool } }
	if err := json.Unmarshal(t.Input["sure"], &sure); err != nil || !sure.Content.OK {
		return errors.New("not confirmed")
	}
	return t.Send("confirmed after " + t.State)
}

func files(ctx context.Context, t turn) error {
	var texts []string
	for _, file := range t.Attachments {
		content, err := file.Download(ctx)
		if err != nil {
			return err
		}
		texts = append(texts, string(content))
	}
	text := strings.Join(texts, "\n")
	if _, err := t.Attach(ctx, "upper.txt", "text/plain", strings.NewReader(strings.ToUpper(text))); err != nil {
		return err
	}
	return t.Send(text)
}

func meet(ctx context.Context, t turn) error {
	n, err := strconv.Atoi(t.said)
	if err != nil {
		return err
	}
	if err := begun.await(ctx, "meet "+t.said, n); err != nil {
		return err
	}
	return t.Send("met " + t.said)
}

func steps(_ context.Context, t turn) error {
	search := t.Step("search", agent.StepTool).Set("found", "3")
	search.Step("ask", agent.StepModel).Tokens("check-model", 7, 5).End(nil)
	search.End(nil)
	return t.Send("done")
}

func usage(_ context.Context, t turn) error {
	t.Usage("check-usage", 11, 13, 0.5)
	return t.Send("done")
}

func hold(ctx context.Context, t turn) error {
	_ = t.Delta("held ") // the context tells the same
	if err := begun.await(ctx, "release "+t.said, 1); err != nil {
		return err
	}
	return t.Send(fmt.Sprint("attempt ", t.Attempt))
}

func release(_ context.Context, t turn) error { return t.Send("released") }

func slow(ctx context.Context, t turn) error {
	ms, err := strconv.Atoi(t.said)
	if err != nil {
		return err
	}
	_ = t.Delta(me + " ") // the context tells the same
	if err := sleep(ctx, time.Duration(ms)*time.Millisecond); err != nil {
		return err
	}
	return t.Send(fmt.Sprint("attempt ", t.Attempt))
}
