package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/beeos/beeos"
)

// declaration is what the agent shows of itself at the moment. It is never
// changed, only replaced.
type declaration struct {
	opts Options
	def  beeos.Definition
}

func newDeclaration(o Options) (*declaration, error) {
	def, err := o.definition()
	if err != nil {
		return nil, err
	}
	return &declaration{opts: o, def: def}, nil
}

// Change changes what the agent shows of itself: its tools, resources, prompts
// and descriptions. Connected clients are told. Everything else in the options
// stays as it was. A change that the gateway refuses did not happen; one that
// it could not be told is told when it is there again.
func (a *Agent) Change(ctx context.Context, change func(*Options)) error {
	a.updating.Lock()
	defer a.updating.Unlock()
	before := a.declared.Load()
	o := before.opts
	o.Tools, o.Resources, o.Prompts = slices.Clone(o.Tools), slices.Clone(o.Resources), slices.Clone(o.Prompts)
	change(&o)
	o.Name = a.opts.Name
	next, err := newDeclaration(o)
	if err != nil {
		return err
	}
	a.declared.Store(next) // first: a new tool may be called as soon as it is declared
	if err = a.gw.declare(ctx, next.def); err == nil {
		return nil
	}
	if _, refused := errors.AsType[*refusal](err); refused {
		a.declared.Store(before)
	} else {
		a.gw.synced.Store(false)
	}
	return fmt.Errorf("agent %s: %w", o.Name, err)
}

// handlerFor returns who answers m.
func (a *Agent) handlerFor(m Message) Handler {
	o := a.declared.Load().opts
	if own := o.handlerOf(m); own != nil {
		return own
	}
	if a.handle != nil {
		return a.handle
	}
	if len(o.Tools) == 1 && m.Method == "" {
		if tool := o.Tools[0].answerByTool(m); tool != nil {
			return tool
		}
	}
	return refuseAll
}

// handlerOf returns the handler of the tool, resource or prompt that m is for,
// or nil when there is none of its own.
func (o *Options) handlerOf(m Message) Handler {
	switch m.Method {
	case "tools/call":
		for _, t := range o.Tools {
			if t.Name == m.Tool {
				return t.Handle
			}
		}
	case "resources/read":
		uri := m.URI()
		for _, r := range o.Resources {
			if r.Read != nil && r.matches(uri) {
				return r.Read
			}
		}
	case "prompts/get":
		name := m.PromptName()
		for _, p := range o.Prompts {
			if p.Name == name {
				return p.Get
			}
		}
	case "completion/complete":
		return o.Complete
	}
	return nil
}
