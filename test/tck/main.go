// Command tck runs the A2A project's own test suite, the TCK (branch 1.0-dev),
// against a BeeOS server: JSON-RPC and HTTP+JSON. agent.go is the agent that it
// talks to, an ordinary one that knows the suite's message ids; front.go stands
// between the two, names.go keeps what it sends on this machine; suite.go gets and runs the suite; report.go is the table.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "", "Markdown file whose A2A section is written anew")
	hold := flag.Bool("hold", false, "do not run the suite, wait for one that is run by hand")
	only := flag.String("k", "", "run only the tests whose names match, as pytest -k does")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, *out, *only, *hold)
	if err != nil {
		log.Fatal(err)
	}
	if failed > 0 {
		log.Fatalf("%d requirements failed", failed)
	}
}

func run(ctx context.Context, out, only string, hold bool) (failed int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	nothingLeaves()
	data, err := os.MkdirTemp("", "beeos-tck-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(data)
	front, err := openFront()
	if err != nil {
		return 0, err
	}
	defer front.free()
	info, ended, err := startServer(ctx, data, front)
	if err != nil {
		return 0, err
	}
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	id, err := startAgent(ctx, data, info)
	if err != nil {
		return 0, err
	}
	front.serve(ctx, info.UserKey)
	if hold {
		fmt.Println(front.url + "/" + id)
		<-ctx.Done()
		return 0, nil
	}
	s, err := getSuite(ctx)
	if err != nil {
		return 0, err
	}
	results, err := s.run(ctx, front.url+"/"+id, only, data)
	if err != nil {
		return 0, err
	}
	fmt.Print(results.text())
	if out != "" {
		err = results.write(out)
	}
	return results.failed(), err
}

// startServer runs BeeOS in this process, with its A2A surface behind front.
func startServer(ctx context.Context, data string, f *front) (app.Info, chan error, error) {
	free := config.Surface{Addr: "127.0.0.1:0"}
	cfg := config.Config{
		Dev: true, AllowPrivate: true, Data: data, Durability: "os", RateLimit: 1_000_000, CallTimeout: 30 * time.Second,
		MCP: config.MCP{Surface: free}, A2A: config.Surface{Addr: f.server, PublicURL: f.url}, REST: free, Agents: free, Web: free,
	}
	ready, ended := make(chan app.Info, 1), make(chan error, 1)
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	go func() { // awaited by run
		ended <- app.Run(ctx, cfg, app.Options{Demo: true, Log: quiet, Ready: func(i app.Info) { ready <- i }})
	}()
	select {
	case info := <-ready:
		return info, ended, nil
	case err := <-ended:
		return app.Info{}, nil, fmt.Errorf("beeos did not start: %w", err)
	}
}

// startAgent connects the suite's agent.
func startAgent(ctx context.Context, data string, info app.Info) (id string, err error) {
	connected, ended := make(chan string, 1), make(chan error, 1)
	a, err := agent.New(agent.Options{
		Name: "tck", DisplayName: "TCK agent", Description: "Does what the TCK's message ids ask for.", Version: "1.0.0",
		Gateway: info.Agents, Key: info.UserKey, Identity: filepath.Join(data, "tck-agent.json"),
		// CORE-SEND-003 is about media types that an agent does not take, but wants
		// its message taken; so this agent takes everything.
		Capabilities: json.RawMessage(`{"inputModes": ["*/*"]}`),
		Connected: func(id string) {
			select {
			case connected <- id:
			default: // again
			}
		},
	}, answer)
	if err != nil {
		return "", err
	}
	go func() { ended <- a.Run(ctx) }() // ends with ctx
	select {
	case id := <-connected:
		return id, nil
	case err := <-ended:
		return "", fmt.Errorf("the agent did not connect: %w", err)
	}
}
