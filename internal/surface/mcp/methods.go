package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// getPrompt answers prompts/get: a static template from here, the rest by the
// agent.
func (x *request) getPrompt(ctx context.Context, m *message) ([]byte, error) {
	name, ok := httpd.StringValue(httpd.Field(m.params, "name"))
	if !ok || name == "" {
		return nil, beeos.Errorf(beeos.MissingParam, "params.name must name a prompt; prompts/list has them")
	}
	p := x.lists.promptByName[name]
	if p == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "unknown prompt %.100q; prompts/list has them", name)
	}
	raw := httpd.Field(m.params, "arguments")
	given, err := promptArguments(p, raw)
	if err != nil {
		return nil, err
	}
	if len(p.Messages) > 0 {
		return renderPrompt(p, given)
	}
	o := x.forwardMethod(ctx, m, raw)
	if o.reply == nil {
		return o.earlyResult, o.err
	}
	return promptMessages(o.reply)
}

// readResource answers resources/read: what is static from here, the rest by
// the agent.
func (x *request) readResource(ctx context.Context, m *message) ([]byte, error) {
	uri, ok := httpd.StringValue(httpd.Field(m.params, "uri"))
	if !ok || uri == "" {
		return nil, beeos.Errorf(beeos.MissingParam, "params.uri must name a resource; resources/list has them")
	}
	res := x.lists.resourceAt[uri]
	if res != nil && res.contents != nil {
		return res.contents, nil
	}
	if !x.lists.hasResource(uri) {
		return nil, resourceNotFound(uri)
	}
	o := x.forwardMethod(ctx, m, nil)
	if o.reply == nil {
		return o.earlyResult, o.err
	}
	if o.reply.Type == beeos.AgentRefuse {
		return nil, resourceNotFound(uri)
	}
	return resourceContents(o.reply, uri)
}

const noCompletions = `{"completion":{"values":[],"total":0,"hasMore":false}}`

// complete answers completion/complete: by the agent, if it says that it can;
// otherwise there are no suggestions.
func (x *request) complete(ctx context.Context, m *message) ([]byte, error) {
	ref, argument := httpd.Field(m.params, "ref"), httpd.Field(m.params, "argument")
	if err := x.checkReference(ref); err != nil {
		return nil, err
	}
	_, named := httpd.StringValue(httpd.Field(argument, "name"))
	_, valued := httpd.StringValue(httpd.Field(argument, "value"))
	if !named || !valued {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.argument must have a name and a value, both strings")
	}
	if !x.agent.Definition.Completions {
		return []byte(noCompletions), nil
	}
	o := x.forwardMethod(ctx, m, nil)
	if o.reply == nil {
		return o.earlyResult, o.err
	}
	if o.reply.Type == beeos.AgentRefuse {
		return []byte(noCompletions), nil
	}
	result, err := agentResult(m.method, o.reply)
	if result == nil && err == nil {
		return []byte(noCompletions), nil
	}
	return result, err
}

// checkReference makes sure that there is what the client wants completed.
func (x *request) checkReference(ref []byte) error {
	kind, _ := httpd.StringValue(httpd.Field(ref, "type"))
	name, _ := httpd.StringValue(httpd.Field(ref, "name"))
	uri, _ := httpd.StringValue(httpd.Field(ref, "uri"))
	switch {
	case kind == "ref/prompt" && x.lists.promptByName[name] != nil:
		return nil
	case kind == "ref/resource" && (x.lists.templateAt[uri] || x.lists.hasResource(uri)):
		return nil
	}
	return beeos.Errorf(beeos.InvalidParam, "params.ref must name a prompt (ref/prompt) or a resource template (ref/resource) of this agent")
}

// listSkills answers skills/list.
func (x *request) listSkills(m *message) ([]byte, error) {
	return x.lists.skills.list.page("skills", m.params)
}

// getSkill answers skills/get.
func (x *request) getSkill(m *message) ([]byte, error) {
	uri, _ := httpd.StringValue(httpd.Field(m.params, "uri"))
	entry := x.lists.skills.byFile[uri]
	if entry == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.uri is not the SKILL.md of a skill; skills/list has them")
	}
	return append(append([]byte(`{"skill":`), entry...), '}'), nil
}

// readDirectory answers resources/directory/read.
func (x *request) readDirectory(_ context.Context, m *message) ([]byte, error) {
	uri, _ := httpd.StringValue(httpd.Field(m.params, "uri"))
	list := x.lists.skills.directories[strings.TrimSuffix(uri, "/")]
	if list == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.uri is not a folder of a skill")
	}
	return list.page("resources", m.params)
}

// listTools answers tools/list. Who names no revision waits for results, and
// sees what the agent has.
func (x *request) listTools(params []byte) ([]byte, error) {
	if x.version == unversioned {
		return x.lists.tools.page("tools", params)
	}
	return x.lists.toolsAndFetch.page("tools", params)
}

// discover answers server/discover.
func (x *request) discover() ([]byte, error) { return x.lists.discovery, nil }

// handler answers one method.
type handler = func(*request, context.Context, *message) ([]byte, error)

// atMember lets do answer a method that names a prompt or a resource. In a union
// that happens at the agent that has it, in its own names; the answer comes
// back in those of the union. What nobody has is do's to refuse.
func (x *request) atMember(ctx context.Context, m *message, do handler) ([]byte, error) {
	if x.endpointAgent != "" {
		return do(x, ctx, m)
	}
	e, local, uri := x.lists.findMember(m)
	if e == nil {
		return do(x, ctx, m)
	}
	there := *x
	there.agent, there.lists = e.agent, e.lists
	result, err := do(&there, ctx, local)
	var f *fault
	if errors.As(err, &f) && f.number == numberNoResource {
		return nil, resourceNotFound(e.uriPrefix() + uri)
	}
	return e.toUnion(result, uri), err
}

// canRead reports whether the client can read a resource of that name here.
func (x *request) canRead(uri string) bool {
	if x.endpointAgent != "" {
		return x.lists.hasResource(uri)
	}
	e, _ := x.lists.resourceOwner(uri)
	return e != nil
}
