package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// A server that lists more than this is not believed.
const (
	maxPages = 200
	maxItems = 1000
)

// Offers is everything that a server offers, as an agent declares it.
type Offers struct {
	Tools     []agent.Tool
	Resources []agent.Resource
	Prompts   []agent.Prompt
	completes bool
}

// ListOffers asks the server for all of it. Schemas, annotations and _meta stay
// as the server wrote them.
func (s *Session) ListOffers(ctx context.Context) (o Offers, err error) {
	can := s.About.Capabilities
	o.completes = can.Completions != nil
	for _, part := range []struct {
		offered *Feature
		list    func(context.Context, *Offers) error
	}{{can.Tools, s.listTools}, {can.Resources, s.listResources}, {can.Prompts, s.listPrompts}} {
		if part.offered == nil {
			continue
		}
		if err := part.list(ctx, &o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// toolName is what a gateway lets a tool be called.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,64}$`)

func (s *Session) listTools(ctx context.Context, o *Offers) error {
	items, err := s.readPages(ctx, "tools/list", "tools")
	if err != nil {
		return err
	}
	bound, seen := map[string][]headerBinding{}, map[string]bool{}
	for _, raw := range items {
		var t beeos.Skill
		if err := json.Unmarshal(raw, &t); err != nil || !toolName.MatchString(t.Name) || seen[t.Name] || !describesObject(t.InputSchema) {
			s.Log.Warn("a tool of the server's cannot be offered: its name or its schema is unusable", "tool", upstream.Shorten(t.Name))
			continue
		}
		seen[t.Name] = true
		if b := findHeaderBindings(t.InputSchema, nil); b != nil {
			bound[t.Name] = b
		}
		o.Tools = append(o.Tools, agent.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Schema: t.InputSchema, OutputSchema: t.OutputSchema,
			Annotations: t.Annotations, Icons: t.Icons, Execution: t.Execution, Meta: t.Meta,
		})
	}
	s.mu.Lock()
	s.bound = bound
	s.mu.Unlock()
	return nil
}

func describesObject(schema json.RawMessage) bool {
	var s struct {
		Type string `json:"type"`
	}
	return len(schema) == 0 || json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

func (s *Session) listResources(ctx context.Context, o *Offers) error {
	for _, l := range []struct{ method, member string }{
		{"resources/list", "resources"}, {"resources/templates/list", "resourceTemplates"},
	} {
		items, err := s.readPages(ctx, l.method, l.member)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, raw := range items {
			var r beeos.Resource
			err := json.Unmarshal(raw, &r)
			r.Text, r.Blob = nil, nil // a list describes
			u, bad := url.Parse(r.URI)
			at := r.URI + r.URITemplate
			if err != nil || at == "" || r.Name == "" || seen[at] || r.URI != "" && (bad != nil || u.Scheme == "") {
				s.Log.Warn("a resource of the server's cannot be offered: its name or its address is unusable", "resource", upstream.Shorten(at))
				continue
			}
			seen[at] = true
			o.Resources = append(o.Resources, agent.Resource{Resource: r})
		}
	}
	return nil
}

func (s *Session) listPrompts(ctx context.Context, o *Offers) error {
	items, err := s.readPages(ctx, "prompts/list", "prompts")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, raw := range items {
		var p beeos.Prompt
		if err := json.Unmarshal(raw, &p); err != nil || p.Name == "" || seen[p.Name] {
			s.Log.Warn("a prompt of the server's cannot be offered: its name is unusable", "prompt", upstream.Shorten(p.Name))
			continue
		}
		p.Messages, seen[p.Name] = nil, true
		o.Prompts = append(o.Prompts, agent.Prompt{Prompt: p})
	}
	return nil
}

// readPages reads a list to its end. A server without the method has none.
func (s *Session) readPages(ctx context.Context, method, member string) (items []json.RawMessage, err error) {
	params := Object{}
	for range maxPages {
		raw, err := s.Call(ctx, method, params, Hooks{})
		if fault, ok := errors.AsType[*jsonrpc.Error](err); ok && fault.Code == jsonrpc.CodeMethodNotFound {
			return items, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		var page Object
		var some []json.RawMessage
		var next string
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		if err := json.Unmarshal(page[member], &some); err != nil {
			return nil, fmt.Errorf("%s: the result has no list of %s", method, member)
		}
		items = append(items, some...)
		_ = json.Unmarshal(page["nextCursor"], &next) // none: that was the last
		if len(items) > maxItems {
			s.Log.Warn("the server lists more than an agent can offer; the rest is left out", "method", method, "most", maxItems)
			return items[:maxItems], nil
		}
		if next == "" {
			return items, nil
		}
		params = Object{"cursor": upstream.EncodeJSON(next)}
	}
	return nil, fmt.Errorf("%s: the list has no end", method)
}

func (f Offers) Describe(o *agent.Options, answer agent.Handler) {
	o.Tools, o.Resources, o.Prompts, o.Complete = f.Tools, f.Resources, f.Prompts, nil
	if f.completes {
		o.Complete = answer
	}
}
