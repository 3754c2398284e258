package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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

// pinnedDefinition returns a tool as it is pinned, and its hash. Objects are written
// with sorted names, so that a server may change their order.
func pinnedDefinition(t *mcp.Tool) (text, hash string, err error) {
	raw, err := json.Marshal(pinned{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return "", "", fmt.Errorf("tool %q cannot be read: %w", t.Name, err)
	}
	sum := sha256.Sum256(raw)
	return string(raw), hex.EncodeToString(sum[:]), nil
}

// What one tool may have. A person accepts it and the model reads it, both of
// them whole.
const (
	MaxDefinition = 64 << 10
	maxToolName   = 256
	mostLeftOut   = 8 // that are told by name
)

// describeTools returns the tools as they are pinned, by their names, without
// those that are too large to be looked at; leftOut says which these are.
func describeTools(all []*mcp.Tool) (described []builtins.SkillTool, leftOut []string, err error) {
	for _, t := range all {
		if len(t.Name) > maxToolName || strings.ContainsRune(t.Name, 0) {
			leftOut = append(leftOut, fmt.Sprintf("%s has a name that is longer than %d bytes, or not text", shownName(t.Name), maxToolName))
			continue
		}
		text, hash, err := pinnedDefinition(t)
		if err != nil {
			return nil, nil, err
		}
		if len(text) > MaxDefinition {
			leftOut = append(leftOut, fmt.Sprintf("%s has a definition of %d KiB, and %d KiB is the most", shownName(t.Name), len(text)>>10, MaxDefinition>>10))
			continue
		}
		described = append(described, builtins.SkillTool{Tool: t.Name, Hash: hash, Definition: text})
	}
	if n := len(leftOut); n > mostLeftOut {
		leftOut = append(leftOut[:mostLeftOut:mostLeftOut], fmt.Sprintf("%d more are too large", n-mostLeftOut))
	}
	return described, leftOut, nil
}

func shownName(name string) string { return beeos.Visible(beeos.Shorten(name, 60)) }

// pinTools compares the tools with what is known of them, and returns those that
// the model may see: the ones that the server showed first, or that a person has
// accepted since, as long as they are as they were.
func (c *Client) pinTools(ctx context.Context, all []*mcp.Tool) (known []Tool, leftOut []string, err error) {
	described, leftOut, err := describeTools(all)
	if err != nil {
		return nil, nil, err
	}
	for _, why := range leftOut {
		c.opt.Log.Warn("a tool is left out", "skill", c.opt.Server.Name, "tool", why)
	}
	pins, err := c.pinDescribed(ctx, described)
	if err != nil {
		return nil, nil, err
	}
	named := map[string]bool{}
	for _, d := range described {
		if c.opt.Builtins != nil && pins[d.Tool] != d.Hash {
			c.opt.Log.Warn("a tool is new or has changed, and is held back until it is accepted", "skill", c.opt.Server.Name, "tool", d.Tool)
			continue
		}
		t, err := readPinned(c.opt.Server.Name, d.Definition)
		if err != nil {
			return nil, nil, err
		}
		if named[t.FullName] { // a server that tries can write two such names
			leftOut = append(leftOut, shownName(t.Name)+" has a name that reads like that of another tool")
			continue
		}
		named[t.FullName] = true
		known = append(known, t)
	}
	return known, leftOut, nil
}

// PinnedTools returns the tools of a skill that a person knows and that were last
// seen unchanged, without asking their server.
func PinnedTools(ctx context.Context, table *builtins.Table, builtinID, skillName string) (list []Tool, err error) {
	pins, err := table.ListSkillTools(ctx, builtinID, skillName)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, p := range pins {
		if p.Hash == "" || p.HeldHash != "" {
			continue
		}
		t, err := readPinned(skillName, p.Definition)
		if err != nil {
			return nil, err
		}
		if !named[t.FullName] {
			named[t.FullName] = true
			list = append(list, t)
		}
	}
	return list, nil
}

// readPinned returns a tool as it was pinned.
func readPinned(skillName, definition string) (Tool, error) {
	var p struct {
		Name         string          `json:"name"`
		Title        string          `json:"title"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  json.RawMessage `json:"annotations"`
	}
	if err := json.Unmarshal([]byte(definition), &p); err != nil {
		return Tool{}, fmt.Errorf("a tool of skill %s cannot be read: %w", skillName, err)
	}
	return Tool{
		Name: p.Name, FullName: FullName(skillName, p.Name), Title: p.Title, Description: p.Description,
		Schema: p.InputSchema, Output: p.OutputSchema, Annotations: p.Annotations,
	}, nil
}

// pinDescribed pins the tools, unless all of them are as they were, and returns
// the hashes of those that are not held.
func (c *Client) pinDescribed(ctx context.Context, described []builtins.SkillTool) (hashes map[string]string, err error) {
	if c.opt.Builtins == nil {
		return nil, nil
	}
	pins, err := c.opt.Builtins.ListSkillTools(ctx, c.opt.BuiltinID, c.opt.Server.Name)
	if err != nil {
		return nil, err
	}
	hashes = knownHashes(pins)
	same := len(described) > 0 && len(hashes) == len(pins)
	for _, d := range described {
		same = same && hashes[d.Tool] == d.Hash
	}
	if same {
		return hashes, nil
	}
	pins, err = c.opt.Builtins.PinSkillTools(ctx, c.opt.BuiltinID, c.opt.Server.Name, described, c.opt.Now())
	return knownHashes(pins), err
}

// knownHashes returns the hashes of the tools that are not held.
func knownHashes(pins []builtins.SkillTool) map[string]string {
	hashes := map[string]string{}
	for _, p := range pins {
		if p.HeldHash == "" {
			hashes[p.Tool] = p.Hash
		}
	}
	return hashes
}

// Held is a tool that waits for a person, as it was and as it is now. Both are
// JSON with nothing hidden in it; what was is empty when the tool is new.
type Held struct {
	Skill, Tool string
	Name        string // the tool's, as its server writes it
	Was, Is     string
	Hash        string // of what it is now; Accept wants it back
}

// HeldTools lists the tools of a built-in agent that are held back.
func HeldTools(ctx context.Context, table *builtins.Table, builtinID string) ([]Held, error) {
	known, err := KnownTools(ctx, table, builtinID)
	var all []Held
	for _, k := range known {
		if k.Held != nil {
			all = append(all, *k.Held)
		}
	}
	return all, err
}

func heldTool(t builtins.SkillTool) *Held {
	return &Held{Skill: t.Skill, Tool: beeos.Visible(t.Tool), Name: t.Tool, Was: indentVisible(t.Definition), Is: indentVisible(t.Held), Hash: t.HeldHash}
}

// A definition that is nested deeper than maxIndented, or would grow by more than
// mostBlanks, is shown without the blanks before its lines.
const (
	maxIndented = 24
	mostBlanks  = 8
)

// indentVisible writes a definition on several lines. Marshalling escapes what HTML and
// line ends could do; Visible the rest.
func indentVisible(text string) string {
	var v any
	if text != "" && json.Unmarshal([]byte(text), &v) == nil {
		indent := "  "
		if nestingDepth(v) > maxIndented {
			indent = ""
		}
		lines, _ := json.MarshalIndent(v, "", indent) // of what was JSON before
		if len(lines) > mostBlanks*len(text) {
			lines, _ = json.MarshalIndent(v, "", "")
		}
		text = string(lines)
	}
	return beeos.Visible(text)
}

// nestingDepth returns how deep lists and objects stand in each other.
func nestingDepth(v any) (depth int) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			depth = max(depth, nestingDepth(member))
		}
	case []any:
		for _, item := range v {
			depth = max(depth, nestingDepth(item))
		}
	default:
		return 0
	}
	return depth + 1
}
