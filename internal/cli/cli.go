// Package cli is the command line: each command parses, calls app, client,
// agent or bridge, and prints. What a person asked for goes to stdout, notes
// go to stderr, success without a result is silent, every listing has --json.
//
// dev.go runs a server (screen.go is what people see of it); agents.go,
// call.go, tasks.go, files.go, webhooks.go, keys.go and approvals.go talk to one
// (server.go says to which); scaffold.go, run.go, join.go, connect.go and deploy.go are for those who
// make agents; users.go and grants.go work on a server's database; doctor.go,
// migrate.go and config.go look after a server. terminal.go prints, errors.go
// turns an error into a sentence that names the next step and into one of
// five exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/config"
)

// commands is the grammar of the command line.
type commands struct {
	Dev   DevCmd   `cmd:"" set:"listen=127.0.0.1:" help:"Run everything on this machine, with a demo agent and a live line per call."`
	Serve ServeCmd `cmd:"" help:"Run the server for machines: JSON logs, no demo, no keys on the screen."`

	Agent     AgentCmd     `cmd:"" help:"Write, run and look at agents."`
	Connect   ConnectCmd   `cmd:"" help:"Turn something that is not an agent into one."`
	Deploy    DeployCmd    `cmd:"" help:"Make the built-in agents of a file what it says about them."`
	Call      CallCmd      `cmd:"" help:"Ask an agent and print its answer as it comes."`
	Tasks     TasksCmd     `cmd:"" help:"List, follow and cancel what was asked of agents."`
	Files     FilesCmd     `cmd:"" help:"Send files to the server and fetch them."`
	Webhooks  WebhooksCmd  `cmd:"" help:"Be told how a task goes."`
	Keys      KeysCmd      `cmd:"" help:"Create, list and revoke API keys."`
	Approvals ApprovalsCmd `cmd:"" help:"See the tool calls that wait for you, and decide."`
	Users     UsersCmd     `cmd:"" help:"Invite people, lock them out, help them back in."`
	Grants    GrantsCmd    `cmd:"" help:"See and end what people let apps reach."`

	Doctor     DoctorCmd                 `cmd:"" help:"Check this machine and the server, with a fix for whatever fails."`
	Config     ConfigCmd                 `cmd:"" help:"Print the settings in force and where each came from."`
	Migrate    MigrateCmd                `cmd:"" help:"Copy everything into another database; ids and offsets stay."`
	Version    VersionCmd                `cmd:"" help:"Print the version."`
	Completion kongcompletion.Completion `cmd:"" help:"Print how to switch on tab completion."`
}

const description = "Plug an agent in once, reach it over MCP, A2A and REST. Begin with: beeos dev"

// Main runs the command line of this process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks, the second one finds no handler and kills.
	context.AfterFunc(ctx, stop)

	t := newTerminal(os.Stdin, os.Stdout, os.Stderr)
	parser, err := newParser(ctx, t)
	if err != nil {
		return t.fail(err)
	}
	kongcompletion.Register(parser)
	cmd, err := parser.Parse(os.Args[1:])
	if err != nil {
		return t.misuse(err)
	}
	if cmd.Selected().Name != "serve" { // which has a log for it
		for _, w := range misspelt() {
			t.say("%s", w)
		}
	}
	if err := cmd.Run(); err != nil {
		return t.fail(err)
	}
	return exitOK
}

// misspelt warns about each variable that looks like a setting and is none.
func misspelt() []string {
	var warnings []string
	for _, name := range config.UnknownEnv(ownEnv...) {
		warnings = append(warnings, "unknown setting "+name+" is ignored; see which there are with: beeos config")
	}
	return warnings
}

func newParser(ctx context.Context, t *terminal) (*kong.Kong, error) {
	return kong.New(&commands{},
		kong.Name("beeos"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(t),
	)
}

// misuse reports a command line that cannot be run. A setting whose value is
// no good fails like any other problem; the rest is a matter of usage.
func (t *terminal) misuse(err error) int {
	pe, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return t.fail(err)
	}
	help := "beeos --help"
	if pe.Context != nil {
		if node := pe.Context.Selected(); node != nil {
			help = "beeos " + node.Path() + " --help"
			if s, ok := node.Target.Addr().Interface().(interface{ settings() *config.Config }); ok {
				if bad := s.settings().Validate(); bad != nil && strings.HasSuffix(err.Error(), bad.Error()) {
					return t.fail(bad)
				}
			}
		}
	}
	t.say("%s; see %s", byOrigin(pe), help)
	return exitUsage
}

// byOrigin is the text of an error about a flag that nobody typed: then the
// value is that of its variable, whose name is what helps.
func byOrigin(pe *kong.ParseError) string {
	text := pe.Error()
	if pe.Context == nil {
		return text
	}
	for _, f := range pe.Context.Flags() {
		rest, ok := strings.CutPrefix(text, "--"+f.Name+" ")
		typed := slices.ContainsFunc(pe.Context.Path, func(p *kong.Path) bool { return p.Flag == f })
		if !ok || typed {
			continue
		}
		for _, name := range f.Envs {
			if os.Getenv(name) != "" {
				return name + " " + rest
			}
		}
	}
	return text
}

// VersionCmd prints the version.
type VersionCmd struct {
	JSON bool `help:"Print JSON."`
}

// Run prints the version.
func (c *VersionCmd) Run(t *terminal) error {
	v := map[string]string{"version": beeos.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
	if c.JSON {
		return t.json(v)
	}
	_, err := fmt.Fprintf(t.out, "beeos %s (%s, %s)\n", v["version"], v["go"], v["platform"])
	return err
}
