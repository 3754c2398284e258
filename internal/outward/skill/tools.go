package skill

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostTools bounds what one server can put before the model.
const mostTools = 256

// Tool is a tool that the model may be offered.
type Tool struct {
	Name        string // the server's
	FullName    string // before the model, and before callers
	Title       string
	Description string
	Schema      json.RawMessage
	Output      json.RawMessage // the schema of its results; empty = it says nothing
	Annotations json.RawMessage // empty = it says nothing
	Message     bool            // it is a message to another agent, and no tool of a server
}

// Tools returns what the server offers and a person knows. With fresh, as a
// conversation begins, the server is asked; otherwise only when it said that
// its list has changed, or said nothing for long.
func (c *Client) Tools(ctx context.Context, fresh bool) ([]Tool, error) {
	if tools, ok := c.cachedTools(fresh); ok {
		return tools, nil
	}
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.turn.Release(1)
	if tools, ok := c.cachedTools(fresh); ok {
		return tools, nil // somebody else asked meanwhile
	}
	session, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.markFresh()
	sent, f := c.followCall(ctx)
	all, err := listTools(sent, session)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.dropSession(session)
		return nil, c.rememberFailure(f, err)
	}
	known, leftOut, err := c.pinTools(ctx, all)
	if err != nil {
		return nil, err
	}
	if c.keepTools(known, leftOut) {
		c.tellChanged()
	}
	return known, nil
}

// keepTools keeps a list, and reports whether it differs from the one before.
func (c *Client) keepTools(known []Tool, leftOut []string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = !reflect.DeepEqual(c.tools, known)
	c.tools, c.leftOut, c.listedAt = known, leftOut, c.opt.Now()
	return changed
}

// tellChanged says that the list of tools has changed, or may have. c.mu is not held.
func (c *Client) tellChanged() {
	if c.opt.Changed != nil {
		c.opt.Changed()
	}
}

// LeftOut says which tools of the last list are offered to nobody, and why, fit to
// be shown.
func (c *Client) LeftOut() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leftOut
}

// cachedTools returns the list when it is good enough.
func (c *Client) cachedTools(fresh bool) ([]Tool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age, most := c.opt.Now().Sub(c.listedAt), listedFor
	if fresh {
		most = freshFor
	}
	return c.tools, c.session != nil && !c.stale && age < most
}

// markFresh takes note that the list is about to be asked for: a change that the
// server tells from here on makes it stale again.
func (c *Client) markFresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = false
}

// rememberFailure remembers why the server cannot be used.
func (c *Client) rememberFailure(f *fate, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed, c.failedAt, c.stale = c.explainFailure(f, err), c.opt.Now(), true
	return c.failed
}

func listTools(ctx context.Context, session *mcp.ClientSession) (all []*mcp.Tool, err error) {
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
