package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// maxTools is how many tool calls of a turn are followed.
const maxTools = 1000

// toolCall is one that the program tells of.
type toolCall struct {
	step    *agent.Step
	said    toolUpdate    // what is known of it
	content []toolContent // what it has produced, or would
	paths   []string      // of files, all that were ever named
}

// updateTool takes in what is said of a tool call, which is a step of the answer.
func (t *turn) updateTool(u *update) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.words.apart = true
	c := t.tools[u.ID]
	if c == nil {
		if len(t.tools) >= maxTools {
			return
		}
		c = &toolCall{step: t.r.Step(upstream.Shorten(cmp.Or(u.Name, u.Title, u.ToolKind, "tool")), agent.StepTool)}
		t.tools[u.ID] = c
	}
	c.learn(&u.toolUpdate, u.Content)
	for name, value := range map[string]string{"kind": c.said.ToolKind, "title": c.said.Title, "path": strings.Join(c.paths[:min(len(c.paths), 5)], ", ")} {
		if value != "" {
			c.step.Set(name, upstream.Shorten(value))
		}
	}
	switch c.said.ToolKind {
	case "read", "search", "think":
		c.step.Set(beeos.StepReadOnly, "true")
	}
	switch u.Status {
	case "completed":
		c.step.End(nil)
		c.said.Input, c.content = nil, nil // nobody will ask about it
	case "failed":
		c.step.End(errors.New(cmp.Or(c.words(), "the tool failed")))
		c.said.Input, c.content = nil, nil
	}
}

// learn takes in more of what is known.
func (c *toolCall) learn(u *toolUpdate, produced json.RawMessage) {
	s := &c.said
	s.Name, s.Title, s.ToolKind = cmp.Or(u.Name, s.Name), cmp.Or(u.Title, s.Title), cmp.Or(u.ToolKind, s.ToolKind)
	if len(u.Input) > 0 && string(u.Input) != "null" {
		s.Input = u.Input
	}
	for _, l := range u.Locations {
		c.note(l.Path)
	}
	var list []toolContent
	if json.Unmarshal(produced, &list) != nil || list == nil {
		return
	}
	c.content = list
	for _, one := range list {
		c.note(one.Path)
	}
}

// note notes the path of a file.
func (c *toolCall) note(path string) {
	if path == "" || len(c.paths) >= 100 {
		return
	}
	for _, known := range c.paths {
		if known == path {
			return
		}
	}
	c.paths = append(c.paths, path)
}

// words are the first that it has produced.
func (c *toolCall) words() string {
	for _, one := range c.content {
		if one.Content.Text != "" {
			return one.Content.Text
		}
	}
	return ""
}
