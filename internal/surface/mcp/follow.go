package mcp

import (
	"bytes"
	"context"
	"slices"
	"time"
)

// filter is which changes a stream wants to hear of.
type filter struct {
	tools, prompts, resources bool
	uris                      map[string]bool
}

// follower sends the changes of one agent to one stream.
type follower struct {
	x      *exchange
	stream *stream
	wants  filter
	tag    []byte // the params that every notification has, up to the end of _meta; nil = none
	lists  *lists // as the client was last told of them

	resubscribe func(context.Context) (map[string]bool, error) // nil = what it watches is fixed
	incoming    func(msg []byte)                               // takes messages that came for the stream; nil = they are sent
	tasks       *taskWatch                                     // nil = none
}

// run serves the stream until the client leaves, the server stops, or the
// caller may no longer reach the agent.
func (f *follower) run(ctx context.Context) error {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		check := false
		select {
		case <-f.stream.wake:
		case <-tick.C:
			check = true
		case <-ctx.Done():
			return nil
		}
		if more, err := f.round(ctx, f.stream.take(), check); err != nil || !more {
			return err
		}
	}
}

// round passes on what was noted; more is false when the stream is over. The
// credential may have been revoked since the last one, or reach less.
func (f *follower) round(ctx context.Context, n noted, check bool) (more bool, err error) {
	if f.x.caller, err = f.x.g.opt.Auth.Authenticate(f.x.r, f.x.g.audience(f.x.home)); err != nil || f.x.home != "" && !f.x.caller.MayReach(f.x.agent) {
		return false, nil //nolint:nilerr // the next request gets to hear why
	}
	if n.changed || check {
		_, e, err := f.x.g.access(f.x.r, f.x.home)
		if err != nil {
			return false, nil //nolint:nilerr // the next request gets to hear why
		}
		if err := f.compare(e.lists); err != nil {
			return false, err
		}
	}
	if n.resubscribed && f.resubscribe != nil {
		if f.wants.uris, err = f.resubscribe(ctx); err != nil {
			return false, err
		}
	}
	for _, uri := range n.updated {
		if method := f.listNotice(uri); method != "" {
			if err := f.notify(method, nil); err != nil {
				return false, err
			}
		}
		if f.wants.uris[uri] {
			if err := f.notify("notifications/resources/updated", append([]byte(`"uri":`), appendText(nil, uri)...)); err != nil {
				return false, err
			}
		}
	}
	if f.tasks != nil {
		if check { // news can be lost
			for id := range f.tasks.last {
				n.turns[id] = true
			}
		}
		for id := range n.turns {
			if msg := f.tasks.news(ctx, id); msg != nil {
				n.messages = append(n.messages, msg)
			}
		}
	}
	for _, msg := range n.messages {
		if f.incoming != nil {
			f.incoming(msg)
			continue
		}
		if err := f.x.out.event(msg); err != nil {
			return false, err
		}
	}
	return !n.ended, nil
}

// listNotice is what an agent means that calls one of its lists updated, to a
// client that wants to know. Another server stands behind such an agent: it
// said so, though the list reads as before.
func (f *follower) listNotice(uri string) string {
	switch {
	case uri == "beeos://agent/tools" && f.wants.tools:
		return "notifications/tools/list_changed"
	case uri == "beeos://agent/prompts" && f.wants.prompts:
		return "notifications/prompts/list_changed"
	case uri == "beeos://agent/resources" && f.wants.resources:
		return "notifications/resources/list_changed"
	}
	return ""
}

// compare tells the client which lists have changed.
func (f *follower) compare(now *lists) error {
	before := f.lists
	f.lists = now
	if before == now {
		return nil
	}
	f.stream.about(now)
	for _, l := range []struct {
		wanted        bool
		before, after pages
		method        string
	}{
		{f.wants.tools, before.tools, now.tools, "notifications/tools/list_changed"},
		{f.wants.prompts, before.prompts, now.prompts, "notifications/prompts/list_changed"},
		{f.wants.resources, before.resources, now.resources, "notifications/resources/list_changed"},
		{f.wants.resources, before.templates, now.templates, "notifications/resources/list_changed"},
	} {
		if l.wanted && !slices.EqualFunc(l.before, l.after, bytes.Equal) {
			if err := f.notify(l.method, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// notify sends a notification; params are its members, if it has any.
func (f *follower) notify(method string, params []byte) error {
	return f.x.out.event(notification(method, f.tag, params))
}

// notification writes one whose params are tag, a whole member, and params.
func notification(method string, tag, params []byte) []byte {
	b := append(make([]byte, 0, 96+len(tag)+len(params)), `{"jsonrpc":"2.0","method":"`+method+`"`...)
	if tag == nil && params == nil {
		return append(b, '}')
	}
	b = append(append(b, `,"params":{`...), tag...)
	if tag != nil && params != nil {
		b = append(b, ',')
	}
	return append(append(b, params...), `}}`...)
}
