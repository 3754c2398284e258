package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// getPrompt answers prompts/get: a static template from here, the rest by the
// agent.
func (x *request) getPrompt(ctx context.Context, m *wire.Message) ([]byte, error) {
	name, ok := strictjson.StringField(m.Params, "name")
	if !ok || name == "" {
		return nil, beeos.Errorf(beeos.MissingParam, "params.name must name a prompt; prompts/list has them")
	}
	p := x.Lists.PromptByName[name]
	if p == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "unknown prompt %.100q; prompts/list has them", name)
	}
	m.Params = catalog.DropNullArguments(m.Params)
	raw := strictjson.Field(m.Params, "arguments")
	given, err := catalog.PromptArguments(p, raw)
	if err != nil {
		return nil, err
	}
	if len(p.Messages) > 0 {
		return catalog.RenderPrompt(p, given)
	}
	o := x.ForwardMethod(ctx, m, raw)
	if o.Reply == nil {
		return o.EarlyResult, o.Err
	}
	return replies.PromptMessages(o.Reply)
}

// readResource answers resources/read: what is static from here, the rest by
// the agent.
func (x *request) readResource(ctx context.Context, m *wire.Message) ([]byte, error) {
	uri, ok := strictjson.StringField(m.Params, "uri")
	if !ok || uri == "" {
		return nil, beeos.Errorf(beeos.MissingParam, "params.uri must name a resource; resources/list has them")
	}
	if static := x.Lists.Contents[uri]; static != nil {
		return static, nil
	}
	if !x.Lists.HasResource(uri) {
		return nil, wire.ResourceNotFound(uri)
	}
	o := x.ForwardMethod(ctx, m, nil)
	if o.Reply == nil {
		return o.EarlyResult, o.Err
	}
	if o.Reply.Type == beeos.AgentRefuse {
		return nil, wire.ResourceNotFound(uri)
	}
	return replies.ResourceContents(o.Reply, uri)
}

const noCompletions = `{"completion":{"values":[],"total":0,"hasMore":false}}`

// complete answers completion/complete: by the agent, if it says that it can;
// otherwise there are no suggestions.
func (x *request) complete(ctx context.Context, m *wire.Message) ([]byte, error) {
	ref, argument := strictjson.Field(m.Params, "ref"), strictjson.Field(m.Params, "argument")
	if err := x.checkReference(ref); err != nil {
		return nil, err
	}
	_, named := strictjson.StringField(argument, "name")
	_, valued := strictjson.StringField(argument, "value")
	if !named || !valued {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.argument must have a name and a value, both strings")
	}
	if !x.Agent.Definition.Completions {
		return []byte(noCompletions), nil
	}
	o := x.ForwardMethod(ctx, m, nil)
	if o.Reply == nil {
		return o.EarlyResult, o.Err
	}
	if o.Reply.Type == beeos.AgentRefuse {
		return []byte(noCompletions), nil
	}
	result, err := replies.AgentResult(m.Method, o.Reply)
	if result == nil && err == nil {
		return []byte(noCompletions), nil
	}
	return result, err
}

// checkReference makes sure that there is what the client wants completed.
func (x *request) checkReference(ref []byte) error {
	kind, _ := strictjson.StringField(ref, "type")
	name, _ := strictjson.StringField(ref, "name")
	uri, _ := strictjson.StringField(ref, "uri")
	switch {
	case kind == "ref/prompt" && x.Lists.PromptByName[name] != nil:
		return nil
	case kind == "ref/resource" && (x.Lists.TemplateAt[uri] || x.Lists.HasResource(uri)):
		return nil
	}
	return beeos.Errorf(beeos.InvalidParam, "params.ref must name a prompt (ref/prompt) or a resource template (ref/resource) of this agent")
}

// getSkill answers skills/get.
func (x *request) getSkill(_ context.Context, m *wire.Message) ([]byte, error) {
	uri, _ := strictjson.StringField(m.Params, "uri")
	skill := x.Lists.Skills.ByFile[uri]
	if skill == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.uri is not the SKILL.md of a skill; skills/list has them")
	}
	return append(append([]byte(`{"skill":`), skill...), '}'), nil
}

// readDirectory answers resources/directory/read.
func (x *request) readDirectory(_ context.Context, m *wire.Message) ([]byte, error) {
	uri, _ := strictjson.StringField(m.Params, "uri")
	list, ok := x.Lists.Skills.Directories[strings.TrimSuffix(uri, "/")]
	if !ok {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.uri is not a folder of a skill")
	}
	return list.Page(m.Params)
}

// listTools answers tools/list. Who names no revision waits for results, and
// sees what the agent has; so does everybody where results are not fetched.
func (x *request) listTools(_ context.Context, m *wire.Message) ([]byte, error) {
	if x.Version == wire.Unversioned || x.EndpointAgent != "" && !x.Agent.HandOver {
		return x.Lists.Tools.Page(m.Params)
	}
	return x.Lists.ToolsAndFetch.Page(m.Params)
}

// discover answers server/discover.
func (x *request) discover(context.Context, *wire.Message) ([]byte, error) {
	return x.Lists.Discovery, nil
}

// atMember lets do answer a method that names a prompt or a resource. In a
// union that happens at the agent that has it, in its own names; the answer
// comes back in those of the union. What nobody has is do's to refuse.
func atMember(do handler) handler {
	return func(x *request, ctx context.Context, m *wire.Message) ([]byte, error) {
		e, local, uri := x.Lists.FindMember(m)
		if e == nil {
			return do(x, ctx, m)
		}
		there := *x
		there.Agent, there.Lists = e.Agent, e.Lists
		result, err := do(&there, ctx, local)
		var f *wire.Fault
		if errors.As(err, &f) && f.Number == wire.NumberNoResource {
			return nil, wire.ResourceNotFound(e.UnionURI(uri))
		}
		return e.ToUnion(result, uri), err
	}
}

// canRead reports whether the client can read a resource of that name here.
func (x *request) canRead(uri string) bool {
	if x.EndpointAgent != "" {
		return x.Lists.HasResource(uri)
	}
	e, _ := x.Lists.ResourceOwner(uri)
	return e != nil
}
