package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/beeos/beeos"
)

// face is what the agent shows of itself at the moment, and who answers which
// part of it. It is never changed, only replaced.
type face struct {
	opts      Options
	def       beeos.Definition
	tools     map[string]Handler
	resources []route
	prompts   map[string]Handler
}

// route is who answers the reads of one resource or template.
type route struct {
	match  func(uri string) bool
	handle Handler
}

func newFace(o Options) (*face, error) {
	def, err := o.definition()
	if err != nil {
		return nil, err
	}
	f := &face{opts: o, def: def, tools: map[string]Handler{}, prompts: map[string]Handler{}}
	for _, t := range o.Tools {
		if t.Handle != nil {
			f.tools[t.Name] = t.Handle
		}
	}
	for _, r := range o.Resources {
		if r.Read != nil {
			f.resources = append(f.resources, route{r.matcher(), r.Read})
		}
	}
	for _, p := range o.Prompts {
		if p.Get != nil {
			f.prompts[p.Name] = p.Get
		}
	}
	return f, nil
}

// Change changes what the agent shows of itself: its tools, resources, prompts
// and descriptions. Connected clients are told. Everything else in the options
// stays as it was. A change that the gateway refuses did not happen; one that
// it could not be told is told when it is there again.
func (a *Agent) Change(ctx context.Context, change func(*Options)) error {
	a.updating.Lock()
	defer a.updating.Unlock()
	before := a.shown()
	o := before.opts
	o.Tools, o.Resources, o.Prompts = slices.Clone(o.Tools), slices.Clone(o.Resources), slices.Clone(o.Prompts)
	change(&o)
	o.Name = a.opts.Name
	next, err := newFace(o)
	if err != nil {
		return err
	}
	a.show(next) // first: a new tool may be called as soon as it is declared
	err = a.gw.sync(ctx, next.def)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		a.show(before)
	case err != nil:
		a.gw.forgetSync()
	}
	if err != nil {
		return fmt.Errorf("agent %s: %w", o.Name, err)
	}
	return nil
}

func (a *Agent) shown() *face {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.face
}

func (a *Agent) show(f *face) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.face = f
}

// handler returns who answers m.
func (a *Agent) handler(m Message) Handler {
	f := a.shown()
	switch m.Method {
	case "tools/call":
		if h := f.tools[m.Tool]; h != nil {
			return h
		}
	case "resources/read":
		for _, r := range f.resources {
			if r.match(m.URI()) {
				return r.handle
			}
		}
	case "prompts/get":
		if h := f.prompts[m.PromptName()]; h != nil {
			return h
		}
	case "completion/complete":
		if f.opts.Complete != nil {
			return f.opts.Complete
		}
	}
	if a.handle != nil {
		return a.handle
	}
	return refuseAll
}
