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
	Tasks       map[string][]byte                              // those that it watches -> as the client was last told

	failed error // of the first message that did not get through
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
	if n.resubscribed && f.Resubscribe != nil {
		if f.Wants.URIs, err = f.Resubscribe(ctx); err != nil {
			return false, err
		}
	}
	if n.changed || check {
		now, err := f.ReadLists()
		if err != nil {
			return false, nil //nolint:nilerr // the next request gets to hear why
		}
		f.notifyListChanges(now)
	}
	for _, uri := range n.updated {
		f.notifyUpdate(uri)
	}
	for id := range f.Tasks {
		if n.turns[id] || check { // control messages can be lost
			f.notifyTask(ctx, id)
		}
	}
	for _, msg := range n.messages {
		if f.Incoming != nil {
			f.Incoming(msg)
		} else {
			f.send(msg)
		}
	}
	return !n.ended, f.failed
}

// notifyUpdate tells the client that a resource has changed, if it wants to
// know. An agent may also call one of its lists updated: another server stands
// behind such an agent, and said so, though the list reads as before.
func (f *Follower) notifyUpdate(uri string) {
	for _, c := range changingLists {
		if c.uri == uri && f.Wants.lists[c.method] {
			f.Notify(c.method, nil) //nolint:errcheck // deliver returns it
		}
	}
	if f.Wants.URIs[uri] {
		f.Notify("notifications/resources/updated", wire.AppendText([]byte(`"uri":`), uri)) //nolint:errcheck // deliver returns it
	}
}

// notifyListChanges tells the client which lists have changed, and which of the
// resources that it watches read otherwise now though no agent said so: what an
// agent is and can do, and what it declared whole.
func (f *Follower) notifyListChanges(now *catalog.Lists) {
	before := f.Lists
	f.Lists = now
	if before == now {
		return
	}
	f.Stream.SetMembers(now)
	for uri := range f.Wants.URIs {
		if !bytes.Equal(before.StaticContents(uri), now.StaticContents(uri)) {
			f.Notify("notifications/resources/updated", wire.AppendText([]byte(`"uri":`), uri)) //nolint:errcheck // deliver returns it
		}
	}
	for _, c := range changingLists {
		if f.Wants.lists[c.method] && !slices.EqualFunc(c.lists(before), c.lists(now), catalog.List.Equal) {
			f.Notify(c.method, nil) //nolint:errcheck // deliver returns it
		}
	}
}

// Notify sends a notification; params are its members, if it has any.
func (f *Follower) Notify(method string, params []byte) error {
	f.send(wire.Notification(method, f.Tag, params))
	return f.failed
}

// send sends a message, unless an earlier one did not get through.
func (f *Follower) send(msg []byte) {
	if f.failed == nil {
		f.failed = f.Client.Out.SendEvent(msg)
	}
}
