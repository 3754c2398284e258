package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/outward/bridge"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// ConnectCmd makes an agent of something that is none.
type ConnectCmd struct {
	agentEnv
	Name        string `help:"Name of the agent."`
	Description string `help:"What it does, for callers and their models."`
	Token       string `env:"BEEOS_JOIN_TOKEN" placeholder:"TOKEN" help:"One-time token to join with, from: beeos agent token."`
	Identity    string `placeholder:"FILE" help:"File of its identity. Empty: one per agent in the user's configuration folder."`

	Exec   string `xor:"what" placeholder:"CMD" help:"Program that answers: a JSON line on stdin per message, JSON lines on stdout. More than one word is run by the shell."`
	HTTP   string `xor:"what" placeholder:"URL" help:"Endpoint that answers: a POST per message, JSON or server-sent events back."`
	OpenAI string `xor:"what" name:"openai" placeholder:"URL" help:"OpenAI-compatible endpoint, with its /v1. The key is in OPENAI_API_KEY or in the file that OPENAI_API_KEY_FILE names."`
	MCP    string `xor:"what" placeholder:"CMD|URL" help:"MCP server, whose tools, resources and prompts become the agent's: a command, or an address."`
	A2A    string `xor:"what" name:"a2a" placeholder:"URL" help:"Agent of another platform, or its card. It becomes an agent of yours."`
	File   string `xor:"what" short:"f" placeholder:"FILE" help:"File with several agents. Without anything else: beeos.yaml, if it is here."`

	Model      string   `help:"With --openai: the model."`
	System     string   `placeholder:"TEXT" help:"With --openai: what the model is told first."`
	HeaderFile string   `placeholder:"FILE" help:"File with headers for --http, --openai, --mcp and --a2a, one Name: value per line. BEEOS_BRIDGE_TOKEN or BEEOS_BRIDGE_TOKEN_FILE make a bearer token of their own."`
	A2AOrigin  []string `name:"a2a-origin" placeholder:"URL" help:"With --a2a: where else its card may lead to, as in https://api.example.com."`

	OAuthClient   string   `name:"oauth-client" placeholder:"ID" help:"With --mcp and --a2a: client at the authorization server of a protected server. Its secret is in BEEOS_OAUTH_SECRET, or its private key in BEEOS_OAUTH_KEY, or in the files that these names with _FILE name. Without a client you are asked for your consent."`
	OAuthIssuer   string   `name:"oauth-issuer" placeholder:"URL" help:"The authorization server that the client is registered with."`
	OAuthScope    []string `name:"oauth-scope" placeholder:"SCOPE" help:"More scopes to ask for."`
	OAuthRedirect string   `name:"oauth-redirect" placeholder:"URL" help:"Where you come back to on this machine, if the client is registered with a fixed address."`

	Timeout time.Duration `help:"With --http: how long one answer may take. Empty: as long as the caller waits."`

	Args []string `arg:"" optional:"" passthrough:"" help:"Arguments of the program, after --."`
}

// Validate finds out what is to be connected.
func (c *ConnectCmd) Validate() error {
	if c.Exec+c.HTTP+c.OpenAI+c.MCP+c.A2A+c.File == "" {
		if _, err := os.Stat(bridge.FileName); err != nil {
			return errors.New("nothing to connect: give one of --exec, --http, --openai, --mcp, --a2a and --file")
		}
		c.File = bridge.FileName
	}
	switch {
	case c.File != "" && c.Name != "":
		return errors.New("--name is for one agent; those of a file have theirs in it")
	case c.File == "" && c.Name == "":
		return errors.New("missing flags: --name=STRING")
	case c.OpenAI != "" && c.Model == "":
		return errors.New("--openai needs a --model")
	}
	return nil
}

// Run serves until the context ends.
func (c *ConnectCmd) Run(ctx context.Context, t *terminal) error {
	c.fill()
	connected := func(name, id string) {
		t.note("%s is connected as %s; try: beeos call %s \"hello\"", name, id, name)
	}
	o := agent.Options{
		Name: c.Name, Description: c.Description, Gateway: c.Gateway, Key: c.Key, JoinToken: c.Token, Identity: c.Identity,
		Log: app.Logger(t.err, config.Config{}), // what a program writes to stderr is in it
	}
	if c.File != "" {
		f, err := bridge.ReadFile(c.File)
		if err != nil {
			return err
		}
		for _, name := range f.Builtins() {
			t.note("%s has a prompt, so a server runs it, not this program; deploy it with: beeos deploy -f %s", name, c.File)
		}
		if t.person {
			f.Show(t.lead)
		}
		return f.Run(ctx, o, connected)
	}
	o.Connected = func(id string) { connected(c.Name, id) }
	return c.serve(ctx, t, o)
}

func (c *ConnectCmd) serve(ctx context.Context, t *terminal, o agent.Options) error {
	header, err := c.header()
	if err != nil {
		return err
	}
	oauth, err := c.oauth(t, o, header)
	if err != nil {
		return err
	}
	switch {
	case c.HTTP != "":
		return httpbridge.HTTP(ctx, httpbridge.HTTPOptions{URL: c.HTTP, Header: header, Timeout: c.Timeout, Agent: o})
	case c.OpenAI != "":
		key, err := upstream.SecretEnv("OPENAI_API_KEY")
		if err != nil {
			return err
		}
		return openai.OpenAI(ctx, openai.OpenAIOptions{URL: c.OpenAI, Model: c.Model, System: c.System, Key: key, Header: header, Agent: o})
	case c.A2A != "":
		return a2a.A2A(ctx, a2a.A2AOptions{URL: c.A2A, Origins: c.A2AOrigin, Header: header, OAuth: oauth, Agent: o})
	case upstream.IsURL(c.MCP):
		return mcp.MCP(ctx, mcp.MCPOptions{URL: c.MCP, Header: header, OAuth: oauth, Agent: o})
	case c.MCP != "":
		return mcp.MCP(ctx, mcp.MCPOptions{Command: c.command(c.MCP), Agent: o})
	}
	return exec.Exec(ctx, exec.ExecOptions{Name: o.Name, Description: o.Description, Command: c.command(c.Exec), Log: o.Log, Agent: o})
}

// header reads the secrets that go along with every request.
func (c *ConnectCmd) header() (http.Header, error) {
	header := http.Header{}
	if c.HeaderFile != "" {
		var err error
		if header, err = upstream.ReadHeaders(c.HeaderFile); err != nil {
			return nil, err
		}
	}
	token, err := upstream.SecretEnv("BEEOS_BRIDGE_TOKEN")
	if err != nil {
		return nil, err
	}
	if token != "" {
		header.Set("Authorization", fmt.Sprintf("Bearer %s", token))
	}
	return header, nil
}

// oauth is how to get into a server that wants tokens. A header that has one
// is the answer to that; a peer is asked for tokens only with a client.
func (c *ConnectCmd) oauth(t *terminal, o agent.Options, header http.Header) (*account.OAuth, error) {
	if c.OAuthClient == "" && (!upstream.IsURL(c.MCP) || !account.Wanted(header)) {
		return nil, nil
	}
	secret, err := upstream.SecretEnv("BEEOS_OAUTH_SECRET")
	if err != nil {
		return nil, err
	}
	key, err := upstream.SecretEnv("BEEOS_OAUTH_KEY")
	if err != nil {
		return nil, err
	}
	oauth := &account.OAuth{
		ClientID: c.OAuthClient, Secret: secret, Key: key, Issuer: c.OAuthIssuer, Scopes: c.OAuthScope, Redirect: c.OAuthRedirect,
		Name: o.Name, Log: o.Log,
	}
	if t.person {
		oauth.Show = func(address string) { t.lead(o.Name, address) }
	}
	return oauth, nil
}

// lead asks the person to go to an address.
func (t *terminal) lead(name, address string) {
	t.note("The server of %s wants your consent. Open this address in a browser on this machine:\n%s", name, address)
}

// command is the program with its arguments. What is not a plain word is a
// line for the shell, as people who put it in quotes expect.
func (c *ConnectCmd) command(program string) []string {
	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return upstream.Words(program)
	}
	return append([]string{program}, args...)
}
