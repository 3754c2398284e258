package mcp

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const noCompletions = `{"completion":{"values":[],"total":0,"hasMore":false}}`

// complete answers completion/complete: by the agent, if it says that it can;
// otherwise there are no suggestions.
func (x *exchange) complete(ctx context.Context, m *message) ([]byte, error) {
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
	reply, early, err := x.forwardMethod(ctx, m, nil)
	if reply == nil {
		return early, err
	}
	if reply.Type == beeos.AgentRefuse {
		return []byte(noCompletions), nil
	}
	result, err := agentResult(m.method, reply)
	if result == nil && err == nil {
		return []byte(noCompletions), nil
	}
	return result, err
}

// checkReference makes sure that there is what the client wants completed.
func (x *exchange) checkReference(ref []byte) error {
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
