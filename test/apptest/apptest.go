// Package apptest gives tests a real BeeOS: Start runs every part in this
// process, on random ports and in a folder that goes away with the test, and
// Connect an agent of the test's own beside it.
package apptest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/ports"
)

// App is a running BeeOS.
type App struct {
	app.Info
	stop func()
	done chan error
}

// Config returns a configuration on random loopback ports in a temporary
// folder, with a rate limit that tests do not meet by accident.
func Config(t testing.TB) config.Config {
	t.Helper()
	any := config.Surface{Addr: "127.0.0.1:0"}
	return config.Config{
		Dev: true, AllowPrivate: true, Data: t.TempDir(), Durability: "os",
		MCP: config.MCP{Surface: any}, A2A: any, REST: any, Agents: any, Web: any,
		TrustedProxies: []string{"loopback"}, RateLimit: 1_000_000, CallTimeout: 30 * time.Second,
	}
}

// ConfigToReturn is Config for a BeeOS that is stopped and started again, and
// must be found where it was.
func ConfigToReturn(t testing.TB) config.Config {
	t.Helper()
	cfg := Config(t)
	for _, addr := range []*string{&cfg.MCP.Addr, &cfg.A2A.Addr, &cfg.REST.Addr, &cfg.Agents.Addr, &cfg.Web.Addr} {
		*addr = ports.Addr(t)
	}
	return cfg
}

// Start runs cfg with the demo agent until the test ends.
func Start(t testing.TB, cfg config.Config) *App {
	t.Helper()
	return start(t, cfg, app.Options{Demo: true, Log: logger(t)})
}

// StartWith is Start with options of the test's own.
func StartWith(t testing.TB, cfg config.Config, opt app.Options) *App {
	t.Helper()
	if opt.Log == nil {
		opt.Log = logger(t)
	}
	return start(t, cfg, opt)
}

func start(t testing.TB, cfg config.Config, opt app.Options) *App {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a := &App{stop: cancel, done: make(chan error, 1)}
	ready := make(chan app.Info, 1)
	tell := opt.Ready
	opt.Ready = func(i app.Info) {
		if tell != nil {
			tell(i)
		}
		ready <- i
	}
	go func() { a.done <- app.Run(ctx, cfg, opt) }() // awaited by Stop
	select {
	case a.Info = <-ready:
	case err := <-a.done:
		cancel()
		t.Fatalf("beeos did not start: %v", err)
	}
	t.Cleanup(func() {
		if err := a.Stop(); err != nil {
			t.Errorf("beeos ended with: %v", err)
		}
	})
	return a
}

// Stop shuts BeeOS down in order and returns what it ended with.
func (a *App) Stop() error {
	a.stop()
	err := <-a.done
	a.done <- nil // a second Stop has nothing to wait for
	return err
}

// MCPEndpoint is the demo agent's.
func (a *App) MCPEndpoint() string { return a.MCP + "/" + a.AgentID + "/mcp" }

func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
