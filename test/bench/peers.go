package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/agent"
)

// roleEnv makes this program one of the processes around the server.
const roleEnv = "BEEOS_BENCH_ROLE"

// holdText is a message that is answered like a call of hold.
const holdText = "hold"

const toolSchema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`

func peer(role string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch role {
	case "agent":
		return echoAgent(ctx, "bench", os.Getenv("BEEOS_BENCH_IDENTITY"), func(id string) { fmt.Println("connected", id) },
			agent.Tool{Name: "tick", Description: "Says what time it is, once a second.", Handle: tick},
			agent.Tool{Name: "hold", Description: "Says one word and then nothing.", Handle: hold})
	case "agents":
		return idleAgents(ctx)
	case "readers":
		return readers(ctx)
	case "gosdk":
		return sdkServer(ctx, os.Getenv("BEEOS_BENCH_ADDR"))
	}
	return fmt.Errorf("no role %q", role)
}

// echoAgent answers the tool that every side of the comparison has.
func echoAgent(ctx context.Context, name, identity string, connected func(string), more ...agent.Tool) error {
	return agent.Run(ctx, agent.Options{
		Name: name, Description: "Answers.", Identity: identity, Connected: connected,
		Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Tools: append([]agent.Tool{{Name: "echo", Description: "Says it back.", Schema: json.RawMessage(toolSchema)}}, more...),
	}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		switch {
		case m.Tool == "" && m.Text == holdText:
			return hold(ctx, m, r)
		case m.Tool == "":
			return r.Send("you said: " + m.Text)
		}
		var in struct {
			Text string `json:"text"`
		}
		if err := m.Bind(&in); err != nil {
			return err
		}
		if m.Tool == "" { // somebody talks to it
			in.Text = m.Text
		}
		return r.Send("you said: " + in.Text)
	})
}

// tick streams the time, once a second. The first beat comes at some moment of
// the first second, so that many of them do not beat together.
func tick(ctx context.Context, _ agent.Message, r *agent.Reply) error {
	next := time.NewTimer(rand.N(time.Second))
	defer next.Stop()
	for {
		select {
		case <-next.C:
			next.Reset(time.Second)
			if err := r.Delta(strconv.FormatInt(time.Now().UnixNano(), 10) + " "); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func hold(ctx context.Context, _ agent.Message, r *agent.Reply) error {
	if err := r.Delta("wait"); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// idleAgents connects many agents and lets them sit.
func idleAgents(ctx context.Context) error {
	n, err := strconv.Atoi(os.Getenv("BEEOS_BENCH_AGENTS"))
	if err != nil {
		return err
	}
	dir := os.Getenv("BEEOS_BENCH_IDENTITY")
	var group sync.WaitGroup
	slots := make(chan struct{}, 32) // so that the sign-ups do not trip over each other
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			var once sync.Once
			err := echoAgent(ctx, fmt.Sprint("idle-", i), fmt.Sprint(dir, "/", i, ".json"), func(string) {
				once.Do(func() { <-slots; fmt.Println("connected", i) })
			})
			if err != nil {
				fmt.Println("failed", i, err)
			}
		})
	}
	group.Wait()
	return nil
}

// sdkServer is the peer to beat: go-sdk's own server in its stateless mode,
// answering the same tool in process, with no authentication and no storage.
func sdkServer(ctx context.Context, addr string) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it back."}, func(_ context.Context, _ *mcp.CallToolRequest, v in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you said: " + v.Text}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	server := &http.Server{Addr: addr, Handler: h}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	return server.ListenAndServe()
}
