package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/access/act"
)

const (
	demoEmail = "dev@localhost"
	demoAgent = "echo"
	demoKey   = "beeos dev"
)

// DevFile is <data>/dev.json: what scripts on this machine need.
type DevFile struct {
	Web      string `json:"web"`
	MCP      string `json:"mcp"`
	A2A      string `json:"a2a"`
	REST     string `json:"rest"`
	Agents   string `json:"agents"`
	Admin    string `json:"admin,omitempty"`  // the operator's pages; "" = there are none
	Public   string `json:"public,omitempty"` // where a tunnel leads here from; "" = there is none
	AgentID  string `json:"agent_id"`
	UserKey  string `json:"user_key"`
	AgentKey string `json:"agent_key"`
}

// prepare makes what people need before anything is said to be ready: the first
// one's way in; for the demo a user, its key, and the agent, connected.
func (p *parts) prepare(ctx context.Context) error {
	if !p.opt.Demo {
		return p.makeSetupLink(ctx, "")
	}
	old, err := ReadDevFile(p.cfg.Data)
	if err != nil {
		old = DevFile{} // not there, or not ours: it is written anew
	}
	user, err := p.demoUser(ctx)
	if err != nil {
		return fmt.Errorf("make the dev user: %w", err)
	}
	p.info.UserKey, err = p.demoCredential(ctx, user.ID, "", old.UserKey)
	if err != nil {
		return fmt.Errorf("make the dev user's key: %w", err)
	}
	if p.info.AgentID, err = p.startDemo(ctx); err != nil {
		return fmt.Errorf("start the demo agent: %w", err)
	}
	p.info.AgentKey, err = p.demoCredential(ctx, user.ID, p.info.AgentID, old.AgentKey)
	if err != nil {
		return fmt.Errorf("make the demo agent's key: %w", err)
	}
	if err := p.demoBuiltin(ctx, user.ID); err != nil {
		return err
	}
	if err := p.makeSetupLink(ctx, user.ID); err != nil {
		return err
	}
	return p.writeDevFile()
}

// demoUser returns the owner of the demo. Who uses the setup link becomes
// that user, under another address, so its id is what is remembered.
func (p *parts) demoUser(ctx context.Context) (beeos.User, error) {
	known, err := p.db.People.GetUserByEmail(ctx, demoEmail)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return known, err
	}
	id, err := p.db.Cluster.Secret(ctx, "demo user", func() []byte { return []byte(cmp.Or(known.ID, beeos.NewID())) })
	if err != nil {
		return known, err
	}
	u, err := p.db.People.GetUser(ctx, string(id))
	if err == nil || beeos.CodeOf(err) != beeos.NotFound {
		return u, err
	}
	return p.acts.CreateUser(ctx, act.OperatorFor(""), string(id), demoEmail)
}

// demoCredential keeps the key of the last run while it is good, so that
// clients set up yesterday work today; else it makes a new one.
func (p *parts) demoCredential(ctx context.Context, ownerID, agentID, old string) (string, error) {
	if old != "" {
		c, err := p.auth.Key(ctx, old)
		if err == nil && c.UserID == ownerID && c.AgentID == agentID {
			return old, nil
		}
	}
	_, secret, err := p.acts.CreateKey(ctx, act.OperatorFor(ownerID), beeos.Key{Name: demoKey, AgentID: agentID})
	return secret, err
}

// startDemo runs the demo agent as what it is: an agent like any other, that
// dials the agent gateway. It returns once it is connected.
func (p *parts) startDemo(ctx context.Context) (id string, err error) {
	connected := make(chan string, 1)
	a, err := agent.New(agent.Options{
		Name: demoAgent, DisplayName: "Echo", Description: "Says back what it is told, one word at a time.",
		Gateway: p.gateway, Key: p.info.UserKey, Identity: filepath.Join(p.cfg.Data, "demo-agent.json"), Log: p.log,
		Connected: func(id string) {
			select {
			case connected <- id:
			default: // a reconnect
			}
		},
	}, echo)
	if err != nil {
		return "", err
	}
	p.demo = make(chan error, 1)
	go func() { p.demo <- a.Run(ctx) }() // awaited by demoAgent
	select {
	case id := <-connected:
		return id, nil
	case err := <-p.demo:
		return "", errors.Join(err, errors.New("the demo agent stopped"))
	}
}

// awaitDemo waits for the demo agent's end.
func (p *parts) awaitDemo(ctx context.Context) error {
	if p.demo == nil {
		return nil
	}
	err := <-p.demo
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func echo(_ context.Context, m agent.Message, r *agent.Reply) error {
	if err := r.Delta("you said:"); err != nil {
		return err
	}
	for _, word := range strings.Fields(m.Text) {
		if err := r.Delta(" " + word); err != nil {
			return err
		}
	}
	return nil
}

func devFilePath(data string) string { return filepath.Join(data, "dev.json") }

// ReadDevFile returns what the `beeos dev` of a data folder left there.
func ReadDevFile(data string) (f DevFile, err error) {
	b, err := os.ReadFile(devFilePath(data))
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("%s is damaged: %w", devFilePath(data), err)
	}
	return f, nil
}

// writeDevFile replaces dev.json in one step and with nobody else looking:
// it holds keys.
func (p *parts) writeDevFile() error {
	b, err := json.MarshalIndent(p.info.DevFile, "", "  ")
	if err != nil {
		return fmt.Errorf("encode dev.json: %w", err)
	}
	path := devFilePath(p.cfg.Data)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write dev.json: %w", err)
	}
	return os.Rename(path+".new", path)
}
