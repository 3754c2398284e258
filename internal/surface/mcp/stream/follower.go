package stream

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// Follower sends the changes of one agent to one stream.
type Follower struct {
	Client *call.Client
	Stream *Stream

	CheckCaller func() (beeos.Caller, error)   // who it is now: its credential may be gone
	ReadLists   func() (*catalog.Lists, error) // as the caller may see them now

	Wants Filter
	Tag   []byte         // the params that every notification has, up to the end of _meta; nil = none
	Lists *catalog.Lists // as the client was last told of them

	Resubscribe func(context.Context) (map[string]bool, error) // nil = what it watches is fixed
	Incoming    func(msg []byte)                               // takes messages that came for the stream; nil = they are sent
	Tasks       *TaskWatch                                     // nil = none
}

// Run serves the stream until the client leaves, the server stops, or the
// caller may no longer reach the agent.
func (f *Follower) Run(ctx context.Context) error {
	tick := time.NewTicker(wire.KeepAliveEvery)
	defer tick.Stop()
	for {
		check := false
		select {
		case <-f.Stream.wake:
		case <-tick.C:
			check = true
		case <-ctx.Done():
			return nil
		}
		if more, err := f.deliver(ctx, f.Stream.takeNoted(), check); err != nil || !more {
			return err
		}
	}
}

// deliver passes on what was noted; more is false when the stream is over. The
// credential may have been revoked since the last one, or reach less.
func (f *Follower) deliver(ctx context.Context, n noted, check bool) (more bool, err error) {
	if f.Client.Caller, err = f.CheckCaller(); err != nil || f.Client.EndpointAgent != "" && !f.Client.Caller.MayReach(f.Client.Agent) {
		return false, nil //nolint:nilerr // the next request gets to hear why
	}
	if n.changed || check {
		now, err := f.ReadLists()
		if err != nil {
			return false, nil //nolint:nilerr // the next request gets to hear why
		}
		if err := f.notifyListChanges(now); err != nil {
			return false, err
		}
	}
	if n.resubscribed && f.Resubscribe != nil {
		if f.Wants.URIs, err = f.Resubscribe(ctx); err != nil {
			return false, err
		}
	}
	for _, uri := range n.updated {
		if method := f.listNotice(uri); method != "" {
			if err := f.Notify(method, nil); err != nil {
				return false, err
			}
		}
		if f.Wants.URIs[uri] {
			if err := f.Notify("notifications/resources/updated", append([]byte(`"uri":`), wire.AppendText(nil, uri)...)); err != nil {
				return false, err
			}
		}
	}
	if f.Tasks != nil {
		if check { // control messages can be lost
			for id := range f.Tasks.Last {
				n.turns[id] = true
			}
		}
		for id := range n.turns {
			if msg := f.Tasks.nextNotification(ctx, id); msg != nil {
				n.messages = append(n.messages, msg)
			}
		}
	}
	for _, msg := range n.messages {
		if f.Incoming != nil {
			f.Incoming(msg)
			continue
		}
		if err := f.Client.Out.SendEvent(msg); err != nil {
			return false, err
		}
	}
	return !n.ended, nil
}

// listNotice is what an agent means that calls one of its lists updated, to a
// client that wants to know. Another server stands behind such an agent: it
// said so, though the list reads as before.
func (f *Follower) listNotice(uri string) string {
	switch {
	case uri == "beeos://agent/tools" && f.Wants.Tools:
		return "notifications/tools/list_changed"
	case uri == "beeos://agent/prompts" && f.Wants.Prompts:
		return "notifications/prompts/list_changed"
	case uri == "beeos://agent/resources" && f.Wants.Resources:
		return "notifications/resources/list_changed"
	}
	return ""
}

// notifyListChanges tells the client which lists have changed.
func (f *Follower) notifyListChanges(now *catalog.Lists) error {
	before := f.Lists
	f.Lists = now
	if before == now {
		return nil
	}
	f.Stream.SetMembers(now)
	for _, l := range []struct {
		wanted        bool
		before, after catalog.Pages
		method        string
	}{
		{f.Wants.Tools, before.Tools, now.Tools, "notifications/tools/list_changed"},
		{f.Wants.Prompts, before.Prompts, now.Prompts, "notifications/prompts/list_changed"},
		{f.Wants.Resources, before.Resources, now.Resources, "notifications/resources/list_changed"},
		{f.Wants.Resources, before.Templates, now.Templates, "notifications/resources/list_changed"},
	} {
		if l.wanted && !slices.EqualFunc(l.before, l.after, bytes.Equal) {
			if err := f.Notify(l.method, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Notify sends a notification; params are its members, if it has any.
func (f *Follower) Notify(method string, params []byte) error {
	return f.Client.Out.SendEvent(wire.Notification(method, f.Tag, params))
}
