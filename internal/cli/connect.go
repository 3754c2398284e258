package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/outward/bridge"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/internal/surface/web/connect"
)

// ConnectCmd turns something that is not an agent into one.
type ConnectCmd struct {
	remote.AgentEnv
	Name        string `help:"Name of the agent."`
	Description string `help:"What it does, for callers and their models."`
	Token       string `env:"BEEOS_JOIN_TOKEN" placeholder:"TOKEN" help:"One-time token to join with, from: beeos agent token."`
	Identity    string `placeholder:"FILE" help:"File of its identity. Empty: one per agent in the user's configuration folder."`

	bridge.Kinds
	File string `xor:"what" short:"f" placeholder:"FILE" help:"File with several agents. Without anything else: beeos.yaml, if it is here."`

	HeaderFile string `placeholder:"FILE" help:"File with headers for what is reached by an address, one Name: value per line. BEEOS_BRIDGE_TOKEN or BEEOS_BRIDGE_TOKEN_FILE make a bearer token of their own."`

	OAuthClient   string   `name:"oauth-client" placeholder:"ID" help:"Client at the authorization server of an MCP server or agent that is protected. Its secret is in BEEOS_OAUTH_SECRET, or its private key in BEEOS_OAUTH_KEY, or in the files that these names with _FILE name. Without a client you are asked for your consent."`
	OAuthIssuer   string   `name:"oauth-issuer" placeholder:"URL" help:"The authorization server that the client is registered with."`
	OAuthScope    []string `name:"oauth-scope" placeholder:"SCOPE" help:"More scopes to ask for."`
	OAuthRedirect string   `name:"oauth-redirect" placeholder:"URL" help:"Where you come back to on this machine, if the client is registered with a fixed address."`

	Args []string `arg:"" optional:"" passthrough:"" help:"Arguments of the program, after --."`
}

// Validate finds out what is to be connected.
func (c *ConnectCmd) Validate() error {
	if c.File == "" && len(c.Given()) == 0 {
		if _, err := os.Stat(bridge.FileName); err != nil {
			return fmt.Errorf("nothing to connect: give one of --%s and --file", strings.Join(bridge.KindNames(), ", --"))
		}
		c.File = bridge.FileName
	}
	switch {
	case c.File != "" && c.Name != "":
		return errors.New("--name is for one agent; those of a file have theirs in it")
	case c.File == "" && c.Name == "":
		return errors.New("missing flags: --name=STRING")
	}
	return nil
}

// Run serves until the context ends.
func (c *ConnectCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	c.CompleteFromDev()
	o := agent.Options{
		Name: c.Name, Description: c.Description, Gateway: c.Gateway, Key: c.Key, JoinToken: c.Token, Identity: c.Identity,
		Log: app.Logger(t.Err, config.Config{}), // what a program writes to stderr is in it
	}
	if c.File != "" {
		f, err := bridge.ReadFile(c.File)
		if err != nil {
			return err
		}
		for _, name := range f.Builtins() {
			t.Note("%s has a prompt, so a server runs it, not this program; deploy it with: beeos deploy -f %s", name, terminal.Quote(c.File))
		}
		if t.Person {
			f.Show(func(name, address string) { askForConsent(t, name, address) })
		}
		return f.Run(ctx, o, func(name, id string) { noteConnected(t, name, id, f.Chats(name)) })
	}
	o.Connected = func(id string) { noteConnected(t, c.Name, id, bridge.Chats(c.Given()[0])) }
	return c.serve(ctx, t, o)
}

// noteConnected says that an agent is there, and a command that reaches it.
func noteConnected(t *terminal.Terminal, name, id string, chats bool) {
	if chats {
		t.Note("%s is connected as %s; try: beeos call %s \"hello\"", name, id, terminal.Quote(name))
		return
	}
	t.Note("%s is connected as %s; see its tools with: beeos agent show %s, and call one with: beeos call %s --tool TOOL --args '{}'", name, id, terminal.Quote(name), terminal.Quote(name))
}

func (c *ConnectCmd) serve(ctx context.Context, t *terminal.Terminal, o agent.Options) (err error) {
	s := settings.Bridge{Agent: o, Args: c.Args}
	if len(s.Args) > 0 && s.Args[0] == "--" {
		s.Args = s.Args[1:]
	}
	if s.Header, err = c.readHeader(); err != nil {
		return err
	}
	if s.OAuth, err = c.readOAuth(t); err != nil {
		return err
	}
	b := c.Given()[0]
	if err := b.Check(&s); err != nil {
		return err
	}
	return b.Run(ctx, s)
}

// readHeader reads the secrets that go along with every request.
func (c *ConnectCmd) readHeader() (http.Header, error) {
	header := http.Header{}
	if c.HeaderFile != "" {
		var err error
		if header, err = upstream.ReadHeaders(c.HeaderFile); err != nil {
			return nil, err
		}
	}
	token, err := upstream.ReadSecretEnv("BEEOS_BRIDGE_TOKEN")
	if err != nil {
		return nil, err
	}
	if token != "" {
		header.Set("Authorization", fmt.Sprintf("Bearer %s", token))
	}
	return header, nil
}

// readOAuth returns how to get into a server that wants tokens.
func (c *ConnectCmd) readOAuth(t *terminal.Terminal) (o account.Client, err error) {
	o = account.Client{
		Named: c.OAuthClient != "", ClientID: c.OAuthClient, Issuer: c.OAuthIssuer, Scopes: c.OAuthScope, Redirect: c.OAuthRedirect,
	}
	if o.Secret, err = upstream.ReadSecretEnv("BEEOS_OAUTH_SECRET"); err != nil {
		return o, err
	}
	if o.Key, err = upstream.ReadSecretEnv("BEEOS_OAUTH_KEY"); err != nil {
		return o, err
	}
	if t.Person {
		o.Show = func(address string) { askForConsent(t, c.Name, address) }
	}
	return o, nil
}

// askForConsent asks the person to go to an address.
func askForConsent(t *terminal.Terminal, name, address string) {
	t.Note("The server of %s wants your consent. Open this address in a browser on this machine:\n%s", name, address)
}

// listBridges tells the console of the kinds that ConnectCmd knows.
func listBridges() (list []connect.Bridge) {
	for _, k := range bridge.ListKinds() {
		b := connect.Bridge{Name: k.Name, Title: k.Title, About: k.About, Sample: k.Sample}
		for _, o := range k.Options {
			b.Options = append(b.Options, connect.Option(o))
		}
		list = append(list, b)
	}
	return list
}
