package manage

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

// KeysCmd is about API keys.
type KeysCmd struct {
	Create KeysCreateCmd `cmd:"" help:"Make a key: oag_ for everything you own, with --agent a bak_ for one agent."`
	List   KeysListCmd   `cmd:"" help:"List keys."`
	Limit  KeysLimitCmd  `cmd:"" help:"Change how many calls a minute a key may make to one agent."`
	Revoke KeysRevokeCmd `cmd:"" help:"End a key at once."`
}

// keyOwner says whose keys are meant.
type keyOwner struct {
	remote.Server
	Agent string `placeholder:"AGENT" help:"Id, slug or name of the agent whose keys (bak_) are meant."`
}

// open returns the client and the id of the agent, if one was named.
func (k *keyOwner) open(ctx context.Context) (*client.Client, string, error) {
	cl, err := k.ProvideClient()
	if err != nil || k.Agent == "" {
		return cl, "", err
	}
	a, err := cl.Find(ctx, k.Agent)
	if err != nil {
		return nil, "", err
	}
	return cl, a.ID, nil
}

// list returns the keys, and what open returns.
func (k *keyOwner) list(ctx context.Context) (cl *client.Client, agent string, keys []client.Key, err error) {
	if cl, agent, err = k.open(ctx); err == nil {
		keys, err = cl.Keys(ctx, agent)
	}
	return cl, agent, keys, err
}

// find returns the id of a key, and what open returns. ref is the id, or the key
// itself, of which the server knows a prefix only.
func (k *keyOwner) find(ctx context.Context, ref string) (cl *client.Client, agent, id string, err error) {
	cl, agent, keys, err := k.list(ctx)
	if err != nil {
		return nil, "", "", err
	}
	var found []string
	for _, one := range keys {
		if one.ID == ref || one.Prefix != "" && strings.HasPrefix(ref, one.Prefix) {
			found = append(found, one.ID)
		}
	}
	switch len(found) {
	case 0:
		return nil, "", "", terminal.Hint("no such key", "see which there are with: beeos keys list, for an agent's with --agent")
	case 1:
		return cl, agent, found[0], nil
	}
	return nil, "", "", terminal.Hint("several keys begin like this", "name one by its id from: beeos keys list")
}

// KeysCreateCmd makes a key.
type KeysCreateCmd struct {
	keyOwner
	Name    string        `help:"What to recognise the key by. Empty: user and machine."`
	Expires time.Duration `placeholder:"DURATION" help:"How long it works, for example 720h. Empty: until revoked."`
	Rate    int           `placeholder:"N" help:"Calls a minute to one agent. Empty: the agent's limit, or the server's default."`
	JSON    bool          `help:"Print JSON."`

	Owner       string `placeholder:"EMAIL" help:"Make the key straight in the database, for this person, who is made when unknown: the first key of a new server."`
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"With --owner: the server's database. Empty: as its settings say, else SQLite in the data folder."`
}

// Run prints the key, which is shown this once.
func (c *KeysCreateCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	host, _ := os.Hostname() //nolint:errcheck // a name without it will do
	r := client.KeyRequest{Name: cmp.Or(c.Name, strings.Trim(os.Getenv("USER")+"@"+host, "@"), "cli"), RatePerMinute: c.Rate}
	if c.Expires > 0 {
		r.ExpiresAt = time.Now().Add(c.Expires).UTC().Truncate(time.Second)
	}
	k, err := c.create(ctx, r)
	if err != nil {
		return err
	}
	if !c.JSON {
		t.Note("shown this once; revoke it with: beeos keys revoke %s", k.ID)
	}
	return t.PrintEither(c.JSON, k, k.Secret)
}

// create asks the server, or with --owner the database.
func (c *KeysCreateCmd) create(ctx context.Context, r client.KeyRequest) (*client.Key, error) {
	if c.Owner == "" {
		cl, agent, err := c.open(ctx)
		if err != nil {
			return nil, err
		}
		return cl.CreateKey(ctx, agent, r)
	}
	if c.Agent != "" {
		return nil, errors.New("--owner makes a key for a person; leave --agent out")
	}
	_, notDev := app.ReadDevFile(c.Data)
	cfg, err := config.OfServer(c.Data, c.DatabaseURL, notDev == nil && c.DatabaseURL == "")
	if err != nil {
		return nil, err
	}
	k, secret, err := app.IssueKey(ctx, cfg, c.Owner, beeos.Key{Name: r.Name, RatePerMinute: r.RatePerMinute, ExpiresAt: r.ExpiresAt})
	return &client.Key{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Secret: secret, RatePerMinute: k.RatePerMinute,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
	}, err
}

// KeysListCmd lists keys.
type KeysListCmd struct {
	keyOwner
	JSON bool `help:"Print JSON."`
}

// Run lists keys.
func (c *KeysListCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	_, _, keys, err := c.list(ctx)
	if err != nil {
		return err
	}
	return terminal.PrintList(t, c.JSON, keys, "ID KEY NAME CREATED USED EXPIRES CALLS/MIN", func(k *client.Key) []string {
		return []string{k.ID, k.Prefix + "…", k.Name, terminal.Ago(k.CreatedAt), terminal.Ago(k.LastUsedAt), terminal.Until(k.ExpiresAt), describeRate(k.RatePerMinute)}
	})
}

func describeRate(perMinute int) string {
	if perMinute == 0 {
		return "default"
	}
	return strconv.Itoa(perMinute)
}

// KeysLimitCmd changes the limit of a key.
type KeysLimitCmd struct {
	keyOwner
	ID   string `arg:"" help:"Id of the key, or the beginning of the key itself (12 characters or all of it)."`
	Rate int    `arg:"" help:"Calls a minute to one agent; 0 is the agent's limit, or the server's default."`
	JSON bool   `help:"Print JSON."`
}

// Run changes the limit, which holds from the key's next call on.
func (c *KeysLimitCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	cl, agent, id, err := c.find(ctx, c.ID)
	if err != nil {
		return err
	}
	k, err := cl.LimitKey(ctx, agent, id, c.Rate)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(k)
	}
	if k.RatePerMinute == 0 {
		t.Note("the key %s has no limit of its own now", terminal.Quote(k.Name))
	} else {
		t.Note("the key %s may make %d calls a minute to one agent now", terminal.Quote(k.Name), k.RatePerMinute)
	}
	return nil
}

// KeysRevokeCmd ends a key.
type KeysRevokeCmd struct {
	keyOwner
	ID string `arg:"" help:"Id of the key, or the beginning of the key itself (12 characters or all of it)."`
}

// Run revokes the key.
func (c *KeysRevokeCmd) Run(ctx context.Context) error {
	cl, agent, id, err := c.find(ctx, c.ID)
	if err != nil {
		return err
	}
	return cl.RevokeKey(ctx, agent, id)
}
