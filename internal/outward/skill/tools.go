package skill

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostTools bounds what one server can put before the model.
const mostTools = 256

// Tool is a tool that the model may be offered.
type Tool struct {
	Name        string // the server's
	FullName    string // before the model
	Description string
	Schema      json.RawMessage
}

// Tools returns what the server offers and a person knows. With fresh, as a
// conversation begins, the server is asked; otherwise only when it said that
// its list has changed, or said nothing for long.
func (c *Client) Tools(ctx context.Context, fresh bool) ([]Tool, error) {
	if tools, ok := c.listed(fresh); ok {
		return tools, nil
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	if tools, ok := c.listed(fresh); ok {
		return tools, nil // somebody else asked meanwhile
	}
	session, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.settle()
	sent, f := c.follow(ctx)
	all, err := list(sent, session)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.drop(session)
		return nil, c.fail(f, err)
	}
	known, held, err := c.pin(ctx, all)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools, c.held, c.listedAt = known, held, c.opt.Now()
	return known, nil
}

// listed returns the list when it is good enough.
func (c *Client) listed(fresh bool) ([]Tool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age, most := c.opt.Now().Sub(c.listedAt), listedFor
	if fresh {
		most = freshFor
	}
	return c.tools, c.session != nil && !c.stale && age < most
}

// settle takes note that the list is about to be asked for: a change that the
// server tells from here on makes it stale again.
func (c *Client) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = false
}

// fail remembers why the server cannot be used.
func (c *Client) fail(f *fate, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed, c.failedAt, c.stale = c.explain(f, err), c.opt.Now(), true
	return c.failed
}

func list(ctx context.Context, session *mcp.ClientSession) (all []*mcp.Tool, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if caps := session.InitializeResult().Capabilities; caps != nil && caps.Tools == nil {
		return nil, nil // a server of something else
	}
	seen := map[string]bool{}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
		if seen[t.Name] {
			continue // model services refuse a list with one name twice, other skills' tools and all
		}
		seen[t.Name] = true
		if len(all) == mostTools {
			return nil, fmt.Errorf("the server has more than %d tools; let it show fewer", mostTools)
		}
		all = append(all, t)
	}
	return all, nil
}
