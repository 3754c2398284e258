package mcp

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/beeos/beeos"
)

// follower sends the changes of one agent to one stream.
type follower struct {
	x      *client
	stream *stream

	checkCaller func() (beeos.Caller, error) // who it is now: its credential may be gone
	readLists   func() (*lists, error)       // as the caller may see them now

	wants filter
	tag   []byte // the params that every notification has, up to the end of _meta; nil = none
	lists *lists // as the client was last told of them

	resubscribe func(context.Context) (map[string]bool, error) // nil = what it watches is fixed
	incoming    func(msg []byte)                               // takes messages that came for the stream; nil = they are sent
	tasks       *taskWatch                                     // nil = none
}

// run serves the stream until the client leaves, the server stops, or the
// caller may no longer reach the agent.
func (f *follower) run(ctx context.Context) error {
	tick := time.NewTicker(keepAliveEvery)
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
		if more, err := f.deliver(ctx, f.stream.takeNoted(), check); err != nil || !more {
			return err
		}
	}
}

// deliver passes on what was noted; more is false when the stream is over. The
// credential may have been revoked since the last one, or reach less.
func (f *follower) deliver(ctx context.Context, n noted, check bool) (more bool, err error) {
	if f.x.caller, err = f.checkCaller(); err != nil || f.x.endpointAgent != "" && !f.x.caller.MayReach(f.x.agent) {
		return false, nil //nolint:nilerr // the next request gets to hear why
	}
	if n.changed || check {
		now, err := f.readLists()
		if err != nil {
			return false, nil //nolint:nilerr // the next request gets to hear why
		}
		if err := f.notifyListChanges(now); err != nil {
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
			if msg := f.tasks.nextNotification(ctx, id); msg != nil {
				n.messages = append(n.messages, msg)
			}
		}
	}
	for _, msg := range n.messages {
		if f.incoming != nil {
			f.incoming(msg)
			continue
		}
		if err := f.x.out.sendEvent(msg); err != nil {
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

// notifyListChanges tells the client which lists have changed.
func (f *follower) notifyListChanges(now *lists) error {
	before := f.lists
	f.lists = now
	if before == now {
		return nil
	}
	f.stream.setMembers(now)
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
	return f.x.out.sendEvent(notification(method, f.tag, params))
}
