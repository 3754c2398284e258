// Agent is the agent of the upgrade tests: it echoes, streams, asks, has a tool
// call approved, makes a file. It uses nothing of the SDK that the SDK of commit
// b8003cc does not have, so that it is also built from the trees of old versions.
//
// Standard output tells what it does: "connected ID", and "begin MESSAGE ATTEMPT
// TEXT" for each message.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/beeos/beeos/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := agent.Run(ctx, agent.Options{
		Name: "echo", Gateway: os.Getenv("AGENT_GATEWAY_URL"), Key: os.Getenv("BEEOS_KEY"), Identity: os.Getenv("UPGRADE_IDENTITY"),
		Tools: []agent.Tool{{Name: "shout", Description: "Says it louder.", Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`), Handle: shout}},
		Log:   slog.New(slog.NewTextHandler(os.Stderr, nil)), Connected: func(id string) { say("connected %s", id) },
	}, answer)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var saying sync.Mutex

func say(format string, args ...any) {
	saying.Lock()
	defer saying.Unlock()
	fmt.Printf(format+"\n", args...)
}

func shout(_ context.Context, m agent.Message, r *agent.Reply) error {
	var args struct{ Text string }
	if err := m.Bind(&args); err != nil {
		return err
	}
	say("begin %s %d %s", m.ID, m.Attempt, args.Text)
	return r.Send(strings.ToUpper(args.Text))
}

func answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	say("begin %s %d %s", m.ID, m.Attempt, m.Text)
	order, rest, _ := strings.Cut(m.Text, " ")
	switch order {
	case "ask":
		said, err := r.InputRequired(ctx, "which one?", nil)
		if err != nil {
			return err
		}
		return r.Send("asked: " + said.Text)
	case "write":
		if err := r.Approve(ctx, "write_file", map[string]string{"text": rest}); err != nil {
			return err
		}
		return r.Send("wrote: " + rest)
	case "file":
		if _, err := r.Attach(ctx, "note.txt", "text/plain", strings.NewReader(rest)); err != nil {
			return err
		}
		return r.Send("attached")
	case "stream":
		return stream(ctx, rest, r)
	}
	return r.Send("echo: " + m.Text)
}

// stream says the numbers up to the first word, one every ten milliseconds.
func stream(ctx context.Context, text string, r *agent.Reply) error {
	n, _, _ := strings.Cut(text, " ")
	top, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	for i := range top {
		if err := r.Delta(strconv.Itoa(i) + " "); err != nil {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return r.Send("end")
}
