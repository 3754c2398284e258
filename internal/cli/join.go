package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// identity says which key pair signs for an agent.
type identity struct {
	remote.AgentEnv
	Name     string `arg:"" help:"Name of the agent, under which its identity is kept."`
	Identity string `placeholder:"FILE" help:"File of the identity. Empty: one per agent in the user's configuration folder."`
}

func (i *identity) agentOptions() agent.Options {
	i.CompleteFromDev()
	return agent.Options{
		Name: i.Name, Gateway: i.Gateway, Key: i.Key, Identity: i.Identity,
		Log: slog.New(slog.DiscardHandler), // what matters comes back as a result
	}
}

// AgentRegisterCmd registers a key pair.
type AgentRegisterCmd struct {
	identity
	Token string `env:"BEEOS_JOIN_TOKEN" placeholder:"TOKEN" help:"One-time token from: beeos agent token. Empty: join with the user key."`
}

// Run prints the id of the new instance.
func (c *AgentRegisterCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	o := c.agentOptions()
	o.JoinToken = c.Token
	id, err := agent.Register(ctx, o)
	if c.Token != "" && beeos.CodeOf(err) == beeos.InvalidToken {
		return terminal.AddHint(err, "make another with: beeos agent token")
	}
	if err != nil {
		return err
	}
	return t.PrintLine(id)
}

// AgentSignCmd signs one request.
type AgentSignCmd struct {
	identity
	Method string `arg:"" help:"Method of the request, for example POST."`
	Path   string `arg:"" help:"Path of the request with its query, for example /api/v1/agents/sync."`
	Body   string `placeholder:"FILE" help:"File with the body; - reads it from stdin. Empty: no body."`
}

// Run prints the header, ready for curl -H.
func (c *AgentSignCmd) Run(t *terminal.Terminal) error {
	var body []byte
	var err error
	switch c.Body {
	case "":
	case "-":
		body, err = io.ReadAll(t.In)
	default:
		body, err = os.ReadFile(c.Body)
	}
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	header, err := agent.Sign(c.agentOptions(), strings.ToUpper(c.Method), c.Path, body)
	if err != nil {
		return err
	}
	return t.PrintLine("Authorization: " + header)
}
