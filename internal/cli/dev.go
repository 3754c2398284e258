package cli

import (
	"context"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
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
	s := &screen{out: t.Out, me: programName()}
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
// to stderr beside it, once.
func (c *ServeCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	log := app.Logger(t.Err, c.Config)
	for _, w := range append(listMisspelt(), c.Warnings()...) {
		log.Warn(w)
	}
	ready := func(i app.Info) {
		log.Info("ready", "took_ms", i.Took.Milliseconds(), "web", i.Web, "mcp", i.MCP, "a2a", i.A2A, "rest", i.REST, "agents", i.Agents, "admin", i.Admin)
		if i.SetupFile != "" {
			t.Say("nobody can sign in yet; open the link in %s once, within 30 minutes, to become the first admin", i.SetupFile)
		}
	}
	return app.Run(ctx, c.Config, app.Options{Log: log, Ready: ready, Bridges: listBridges()})
}
