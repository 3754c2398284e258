package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/builtins"
)

// pinned is what a person accepts of a tool: everything by which it can talk
// to the model or to them.
type pinned struct {
	Name         string               `json:"name"`
	Title        string               `json:"title,omitempty"`
	Description  string               `json:"description,omitempty"`
	InputSchema  any                  `json:"inputSchema"`
	OutputSchema any                  `json:"outputSchema,omitempty"`
	Annotations  *mcp.ToolAnnotations `json:"annotations,omitempty"`
}

// definition returns a tool as it is pinned, and its hash. Objects are written
// with sorted names, so that a server may change their order.
func definition(t *mcp.Tool) (text, hash string, err error) {
	raw, err := json.Marshal(pinned{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return "", "", fmt.Errorf("tool %q cannot be read: %w", t.Name, err)
	}
	sum := sha256.Sum256(raw)
	return string(raw), hex.EncodeToString(sum[:]), nil
}

// pin compares the tools with what is known of them, and returns those that
// the model may see: new ones, which are known from now on, and those that are
// as they were.
func (c *Client) pin(ctx context.Context, all []*mcp.Tool) (known []Tool, held int, err error) {
	before, err := c.before(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range all {
		text, hash, err := definition(t)
		if err != nil {
			return nil, 0, err
		}
		was := before[t.Name]
		if c.opt.Builtins != nil && (was.Hash != hash || was.HeldHash != "") {
			was, err = c.opt.Builtins.PinSkillTool(ctx, builtins.SkillTool{
				BuiltinID: c.opt.BuiltinID, Skill: c.opt.Server.Name, Tool: t.Name, Hash: hash, Definition: text, UpdatedAt: c.opt.Now(),
			})
			if err != nil {
				return nil, 0, err
			}
			if was.HeldHash != "" {
				held++
				c.opt.Log.Warn("a tool has changed and is held back until it is accepted", "skill", c.opt.Server.Name, "tool", t.Name)
				continue
			}
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, 0, fmt.Errorf("tool %q cannot be read: %w", t.Name, err)
		}
		known = append(known, Tool{Name: t.Name, FullName: FullName(c.opt.Server.Name, t.Name), Description: t.Description, Schema: schema})
	}
	return known, held, nil
}

func (c *Client) before(ctx context.Context) (map[string]builtins.SkillTool, error) {
	known := map[string]builtins.SkillTool{}
	if c.opt.Builtins == nil {
		return known, nil
	}
	list, err := c.opt.Builtins.ListSkillTools(ctx, c.opt.BuiltinID, c.opt.Server.Name)
	for _, t := range list {
		known[t.Tool] = t
	}
	return known, err
}

// Held is a tool that waits for a person, as it was and as it is now. Both are
// JSON with nothing hidden in it.
type Held struct {
	Skill, Tool string
	Name        string // the tool's, as its server writes it
	Was, Is     string
	Hash        string // of what it is now; Accept wants it back
}

// HeldTools lists the tools of a built-in agent that are held back.
func HeldTools(ctx context.Context, table *builtins.Table, builtinID string) ([]Held, error) {
	list, err := table.ListSkillTools(ctx, builtinID, "")
	if err != nil {
		return nil, err
	}
	var all []Held
	for _, t := range list {
		if t.HeldHash != "" {
			all = append(all, *held(t))
		}
	}
	return all, nil
}

func held(t builtins.SkillTool) *Held {
	return &Held{Skill: t.Skill, Tool: beeos.Visible(t.Tool), Name: t.Tool, Was: shown(t.Definition), Is: shown(t.Held), Hash: t.HeldHash}
}

// shown is a definition on several lines. Marshalling escapes what HTML and
// line ends could do; Visible the rest.
func shown(text string) string {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return beeos.Visible(text)
	}
	lines, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return beeos.Visible(text)
	}
	return beeos.Visible(string(lines))
}
