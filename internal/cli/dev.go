package cli

import (
	"context"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/wire/systemd"
)

// DevCmd runs everything for one developer.
type DevCmd struct {
	config.Config `embed:""`
}

// Run serves until the context ends. What a newcomer must see is on the
// screen; the log goes to stderr, and without being asked for only trouble.
func (c *DevCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	for _, v := range c.Effective() {
		if v.Env == "LOG_LEVEL" && v.Origin == "default" {
			c.LogLevel = "warn"
		}
	}
	s := &screen{out: t.Out, me: terminal.ProgramName()}
	log := app.Logger(t.Err, c.Config)
	ready := func(i app.Info) {
		if err := remote.RememberDev(i.Data); err != nil {
			log.Warn("commands find this server only from this folder", "err", err)
		}
		s.showStart(i)
	}
	return app.Run(ctx, c.Config, app.Options{Log: log, Demo: true, Ready: ready, OnCall: s.showCall, Bridges: listBridges()})
}

// ServeCmd runs the server for machines.
type ServeCmd struct {
	config.Config `embed:""`
}

// Run serves until the context ends. Where everything is goes to the log;
// keys never do, and the first person's link, which must reach somebody, goes
// to stderr beside it, once. A service manager that started the server hears when
// it is ready, that it lives, and when it stops.
func (c *ServeCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	log := app.Logger(t.Err, c.Config)
	for _, w := range append(listMisspelt(), c.Warnings()...) {
		log.Warn(w)
	}
	manager := systemd.Find(log)
	defer context.AfterFunc(ctx, manager.Stopping)()
	ready := func(i app.Info) {
		manager.Ready()
		go manager.Watch(ctx, func(ctx context.Context) error { return checkAlive(ctx, i.Admin) }) // ends with ctx
		log.Info("ready", "took_ms", i.Took.Milliseconds(), "web", i.Web, "mcp", i.MCP, "a2a", i.A2A, "rest", i.REST, "agents", i.Agents, "admin", i.Admin)
		if i.SetupFile != "" {
			t.Say("nobody can sign in yet; open the link in %s once, within 30 minutes, to become the first admin", i.SetupFile)
		}
	}
	return app.Run(ctx, c.Config, app.Options{Log: log, Ready: ready, Bridges: listBridges()})
}

// checkAlive asks the server itself, over its own listener, whether it lives. One
// without the operator's listener has to be believed.
func checkAlive(ctx context.Context, admin string) error {
	if admin == "" {
		return nil
	}
	return checkHealth(ctx, admin+"/healthz")
}
