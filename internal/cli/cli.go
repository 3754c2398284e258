// Package cli is the command line: each command parses, calls app, client,
// agent or bridge, and prints. What a person asked for goes to stdout, notes
// go to stderr, success without a result is silent, every listing has --json.
//
// cli.go is the tree of commands; those that work on a server are in manage,
// those that save a server's data in backup, those that write and run agents in
// project, what they print with is in terminal. Here are the others: dev.go runs
// a server (screen.go is what people see of it); join.go and connect.go are for
// those who make agents; doctor.go, migrate.go and config.go look after a server; health.go is
// for containers, completion.go for the shell, man.go for packagers.
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

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/cli/backup"
	"github.com/beeos/beeos/internal/cli/check"
	"github.com/beeos/beeos/internal/cli/manage"
	"github.com/beeos/beeos/internal/cli/project"
	"github.com/beeos/beeos/internal/cli/replay"
	"github.com/beeos/beeos/internal/cli/talk"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

// commands is the grammar of the command line.
type commands struct {
	Dev   DevCmd   `cmd:"" set:"listen=127.0.0.1:" help:"Run everything on this machine, with a demo agent and a live line per call."`
	Serve ServeCmd `cmd:"" help:"Run the server for machines: JSON logs, no demo, no keys on the screen."`

	Agent   AgentCmd         `cmd:"" help:"Write, run and look at agents."`
	Connect ConnectCmd       `cmd:"" help:"Turn something that is not an agent into one."`
	Deploy  manage.DeployCmd `cmd:"" help:"Make the built-in agents of a file what it says about them."`
	Call    talk.CallCmd     `cmd:"" help:"Ask an agent and print its answer as it comes."`
	Tasks   talk.TasksCmd    `cmd:"" help:"Give agents work to come back for; list, follow, continue and cancel it."`

	Conversations talk.ConversationsCmd `cmd:"" help:"See and go on with your conversations."`
	Calls         talk.CallsCmd         `cmd:"" help:"See the calls to your agents, and look into one."`
	Replay        replay.Cmd            `cmd:"" help:"Make a call again, or many against another agent, and compare the answers."`
	Budgets       manage.BudgetsCmd     `cmd:"" help:"Bound what calls may take in a day or a month."`
	Usage         manage.UsageCmd       `cmd:"" help:"See what answers of your agents took, in tokens and money."`

	Marketplace talk.MarketplaceCmd `cmd:"" help:"Find agents that others offer to everybody on the server."`

	Files     talk.FilesCmd      `cmd:"" help:"Send files to the server and fetch them."`
	Webhooks  talk.WebhooksCmd   `cmd:"" help:"Be told how a task goes."`
	Keys      manage.KeysCmd     `cmd:"" help:"Create, list, limit and revoke API keys."`
	Approvals talk.ApprovalsCmd  `cmd:"" help:"See the tool calls that wait for you, and decide."`
	Channels  manage.ChannelsCmd `cmd:"" help:"Say where you want to hear of approvals: e-mail, Slack, Telegram or a webhook."`
	Users     manage.UsersCmd    `cmd:"" help:"Invite people, lock them out, help them back in."`
	Grants    manage.GrantsCmd   `cmd:"" help:"See and end what people let apps reach."`

	Doctor  DoctorCmd         `cmd:"" help:"Check this machine and the server, with a fix for whatever fails."`
	Config  ConfigCmd         `cmd:"" help:"Print the settings in force and where each came from; check a file of them."`
	Backup  backup.Cmd        `cmd:"" help:"Save everything that a server keeps into one file, while it runs."`
	Restore backup.RestoreCmd `cmd:"" help:"Bring a backup back, into an empty folder or database."`
	Verify  backup.VerifyCmd  `cmd:"" help:"Look for damage in what a server keeps, whether it runs or not."`
	Migrate MigrateCmd        `cmd:"" help:"Copy everything into another database; ids and offsets stay."`
	Health  HealthCmd         `cmd:"" help:"Ask the server on this machine whether it takes requests."`
	Version VersionCmd        `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`

	Completion CompletionCmd `cmd:"" help:"Print how to switch on tab completion."`
	Man        ManCmd        `cmd:"" hidden:"" help:"Print the manual page."`
}

// AgentCmd is about agents.
type AgentCmd struct {
	New      project.NewCmd        `cmd:"" help:"Write a new agent in Go, Python or TypeScript."`
	Run      project.RunCmd        `cmd:"" help:"Run the agent in a folder, connected to the server, again whenever it changes."`
	Check    check.Cmd             `cmd:"" help:"Try whether a program does what agents must do, in whatever language it is written."`
	List     manage.AgentListCmd   `cmd:"" help:"List your agents and who is connected."`
	Show     manage.AgentShowCmd   `cmd:"" help:"Show one agent."`
	Rename   manage.AgentRenameCmd `cmd:"" help:"Give an agent the name that people see."`
	Set      manage.AgentSetCmd    `cmd:"" help:"Say who may call an agent, how often, and how long calls go."`
	Delete   manage.AgentDeleteCmd `cmd:"" help:"Delete an agent, with its keys."`
	Token    manage.AgentTokenCmd  `cmd:"" help:"Make a one-time token with which another machine may join."`
	Register AgentRegisterCmd      `cmd:"" help:"Register this machine with a join token."`
	Sign     AgentSignCmd          `cmd:"" help:"Sign one request to the agent gateway, for agents made of curl."`
}

const description = "Plug an agent in once, reach it over MCP, A2A and REST. Begin with: beeos dev"

// Main runs the command line of this process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks, the second one finds no handler and kills.
	context.AfterFunc(ctx, stop)

	t := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	parser, err := newParser(ctx, t)
	if err != nil {
		return t.Fail(err)
	}
	cmd, err := parser.Parse(os.Args[1:])
	if err != nil {
		return reportMisuse(t, err)
	}
	if cmd.Selected().Name != "serve" { // which has a log for it
		for _, w := range listMisspelt() {
			t.Say("%s", w)
		}
	}
	if err := cmd.Run(); err != nil {
		return t.Fail(err)
	}
	return terminal.ExitOK
}

// ownEnv are the variables that commands read beside the settings of the
// server; the agent ones are read by the agents that they start.
var ownEnv = []string{
	"BEEOS_URL", "BEEOS_KEY", "BEEOS_JOIN_TOKEN", "BEEOS_WEBHOOK_SECRET", "BEEOS_WEBHOOK_TOKEN", "BEEOS_CHANNEL_TOKEN", "BEEOS_CHANNEL_SECRET",
	"BEEOS_BRIDGE_TOKEN", "BEEOS_BRIDGE_TOKEN_FILE",
	"BEEOS_OAUTH_SECRET", "BEEOS_OAUTH_SECRET_FILE", "BEEOS_OAUTH_KEY", "BEEOS_OAUTH_KEY_FILE",
}

// listMisspelt returns a warning about each variable that looks like a setting
// and is none.
func listMisspelt() []string {
	var warnings []string
	for _, name := range config.UnknownEnv(ownEnv...) {
		warnings = append(warnings, "unknown setting "+name+" is ignored; see which there are with: beeos config")
	}
	return warnings
}

func newParser(ctx context.Context, t *terminal.Terminal) (*kong.Kong, error) {
	return kong.New(&commands{},
		kong.Name("beeos"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(t),
		kong.Vars{"version": describeVersion()},
	)
}

// configured is a command that has the settings of the server.
type configured interface {
	Effective() []config.Value
	Validate() error
}

// reportMisuse reports a command line that cannot be run. A setting whose value is
// no good fails like any other problem; the rest is a matter of usage.
func reportMisuse(t *terminal.Terminal, err error) int {
	pe, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return t.Fail(err)
	}
	if bad, ok := errors.AsType[*config.FileError](err); ok {
		return t.Fail(bad)
	}
	help := "beeos --help"
	if pe.Context != nil {
		if node := pe.Context.Selected(); node != nil {
			help = "beeos " + node.Path() + " --help"
			if s, ok := node.Target.Addr().Interface().(configured); ok {
				if bad := s.Validate(); bad != nil && strings.HasSuffix(err.Error(), bad.Error()) {
					return t.Fail(bad)
				}
			}
		}
	}
	t.Say("%s; see %s", describeParseError(pe), help)
	return terminal.ExitUsage
}

// describeParseError returns the text of an error. If it is about a flag that
// nobody typed, the value is that of its variable, whose name is what helps.
func describeParseError(pe *kong.ParseError) string {
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
func (c *VersionCmd) Run(t *terminal.Terminal) error {
	v := map[string]string{"version": beeos.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
	return t.PrintEither(c.JSON, v, describeVersion())
}

func describeVersion() string {
	return fmt.Sprintf("beeos %s (%s, %s/%s)", beeos.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
