package calls

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// keepAlive is how often an idle stream says that it lives.
const keepAlive = 15 * time.Second

// deltaView is a live piece of a reply, shaped like the message it will be
// part of.
type deltaView struct {
	ID        string            `json:"message_id"`
	Channel   string            `json:"channel_id"`
	Offset    int64             `json:"offset"`
	Type      beeos.MessageType `json:"type"`
	State     string            `json:"state"`
	InReplyTo string            `json:"in_reply_to"`
	Publisher string            `json:"publisher_id"`
	Body      string            `json:"body"`
	Parts     []json.RawMessage `json:"parts,omitempty"`
	Payload   json.RawMessage   `json:"payload,omitempty"`
}

// soFar marks a delta whose body is the whole text so far: it replaces what a
// reader has of that reply.
var soFar = json.RawMessage(`{"so_far":true}`)

// followChannel replays a channel from `since` (or Last-Event-ID), then follows
// it live until the client leaves or the channel closes.
func (h *Handlers) followChannel(r *route.Request, ch *beeos.Channel) (any, error) {
	since, err := readSince(r)
	if err != nil {
		return nil, err
	}
	return h.follow(r, &stream{
		agent: ch.AgentID, channel: ch.ID, since: since,
		events: func(ctx context.Context) iter.Seq2[beeos.Event, error] {
			return h.opt.Calls.Watch(ctx, ch.ID, since>>offsetShift)
		},
		endReason: func() string {
			if now, err := h.opt.Ledger.Channel(r.Context(), ch.ID); err == nil && now.Closed {
				return "channel_closed"
			}
			return "stream_closed"
		},
	}), nil
}

// stream is one event stream of messages, and how it ends.
type stream struct {
	agent, channel string
	since          int64 // as the client gave it
	events         func(context.Context) iter.Seq2[beeos.Event, error]
	endReason      func() string
}

// follow sends the events until there are no more, then says why. A stream can
// outlive its credential: what is revoked or expired gets to hear nothing more.
func (h *Handlers) follow(r *route.Request, st *stream) route.Writer {
	return func(w http.ResponseWriter) error {
		open := h.router.OpenStream(r)
		defer open.Close()
		if err := open.Follow(); err != nil {
			return err
		}
		sse := httpd.NewSSE(w)
		defer sse.Close()
		sse.KeepAlive(keepAlive)
		wire := &offsets{durable: st.since >> offsetShift, deltas: st.since & (1<<offsetShift - 1)}
		for ev, err := range st.events(r.Context()) {
			if err != nil {
				if r.Context().Err() == nil {
					httpd.Report(r.Request, err)
				}
				break
			}
			if open.Check() != nil {
				break
			}
			id, data, err := wire.encode(st, ev)
			if err != nil {
				httpd.Report(r.Request, err)
				break
			}
			if data != nil && sse.Event("message", id, data) != nil {
				return nil // the client is gone
			}
		}
		data, _ := json.Marshal(map[string]string{"reason": st.endReason()}) //nolint:errcheck // a map of strings
		sse.Event("end", "", data)                                           //nolint:errcheck // the last word; nobody may be listening
		return nil
	}
}

// readSince returns where a reader of events wants to go on: the parameter, or
// else what a browser sends by itself when it reconnects.
func readSince(r *route.Request) (int64, error) {
	return r.QueryInt("since", readLastEventID(r.Request), 0, maxOffset)
}

func readLastEventID(r *http.Request) int64 {
	n, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil || n < 0 || n > maxOffset {
		return 0
	}
	return n
}

// offsets numbers what one stream carries: a durable message has its own
// offset, the deltas after it count upwards from there.
type offsets struct {
	durable int64
	deltas  int64
	told    approvalSteps
}

// encode returns the id and the data of an event; nil for those that do not
// concern a channel's readers.
func (o *offsets) encode(st *stream, ev beeos.Event) (id string, data []byte, err error) {
	var v any
	var wire int64
	switch ev.Kind {
	case beeos.EventMessage:
		o.durable, o.deltas = ev.Message.Offset, 0
		wire = o.durable << offsetShift
		v = viewMessage(*ev.Message)
	case beeos.EventDelta:
		if ev.SoFar && ev.Text == "" && ev.Part == nil {
			return "", nil, nil // no text yet
		}
		if o.deltas < 1<<offsetShift-1 { // past that, a few deltas share a number
			o.deltas++
		}
		wire = o.durable<<offsetShift | o.deltas
		v = viewDelta(st, ev, wire)
	case beeos.EventProgress:
		if !isApprovalStep(&ev) || o.told.repeats(&ev) {
			return "", nil, nil
		}
		o.deltas = min(o.deltas+1, 1<<offsetShift-1)
		wire = o.durable<<offsetShift | o.deltas
		v = viewApprovalStep(st, ev, wire)
	default:
		return "", nil, nil
	}
	data, err = json.Marshal(v)
	return strconv.FormatInt(wire, 10), data, err
}

// viewApprovalStep is an approval of a tool call as a message that is not stored.
func viewApprovalStep(st *stream, ev beeos.Event, wire int64) deltaView {
	v := viewDelta(st, ev, wire)
	v.Type, v.Payload = beeos.MessageType(ev.Method), ev.Data
	return v
}

func viewDelta(st *stream, ev beeos.Event, wire int64) deltaView {
	v := deltaView{
		ID: ev.Turn + "-" + strconv.FormatInt(wire, 10), Channel: st.channel, Offset: wire, Type: beeos.AgentReplyDelta, State: beeos.StateStreaming,
		InReplyTo: ev.Turn, Publisher: "agent:" + st.agent, Body: ev.Text,
	}
	if ev.SoFar {
		v.Payload = soFar
	}
	if ev.Reasoning != "" && !ev.SoFar { // a reader would take it for one more piece
		part, _ := json.Marshal(map[string]string{"type": "thinking", "text": ev.Reasoning}) //nolint:errcheck // a map of strings
		v.Parts = append(v.Parts, part)
	}
	if ev.Part != nil {
		v.Parts = append(v.Parts, viewPart(ev.Part))
	}
	return v
}
