package restgw

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/httpd"
)

// keepAlive is how often an idle stream says that it lives.
const keepAlive = 15 * time.Second

// deltaView is a live piece of a reply, shaped like the message it will be
// part of.
type deltaView struct {
	Channel   string            `json:"channel_id"`
	Offset    int64             `json:"offset"`
	Type      beeos.MessageType `json:"type"`
	State     string            `json:"state"`
	InReplyTo string            `json:"in_reply_to"`
	Publisher string            `json:"publisher_id"`
	Body      string            `json:"body"`
	Parts     []json.RawMessage `json:"parts,omitempty"`
}

// streamEvents replays a channel from `since` (or Last-Event-ID), then
// follows it live until the client leaves or the channel closes.
func (s *Surface) streamEvents(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	ch, err := s.channel(r, c)
	if err != nil {
		return err
	}
	since, err := query(r, "since", lastEventID(r), 0, maxOffset)
	if err != nil {
		return err
	}
	sse := httpd.NewSSE(w)
	defer sse.Close()
	sse.KeepAlive(keepAlive)
	wire := &offsets{durable: since >> offsetShift}
	for ev, err := range s.Calls.Watch(r.Context(), ch.ID, since>>offsetShift) {
		if err != nil {
			if r.Context().Err() == nil {
				httpd.Report(r, err)
			}
			break
		}
		id, data, err := wire.encode(ch, ev)
		if err != nil {
			httpd.Report(r, err)
			break
		}
		if data != nil && sse.Event("message", id, data) != nil {
			return nil // the client is gone
		}
	}
	reason := "stream_closed"
	if now, err := s.Ledger.Channel(r.Context(), ch.ID); err == nil && now.Closed {
		reason = "channel_closed"
	}
	data, _ := json.Marshal(map[string]string{"reason": reason}) //nolint:errcheck // a map of strings
	sse.Event("end", "", data)                                   //nolint:errcheck // the last word; nobody may be listening
	return nil
}

func lastEventID(r *http.Request) int64 {
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
}

// encode returns the id and the data of an event; nil for those that do not
// concern a channel's readers.
func (o *offsets) encode(ch beeos.Channel, ev beeos.Event) (id string, data []byte, err error) {
	var v any
	var wire int64
	switch ev.Kind {
	case beeos.EventMessage:
		o.durable, o.deltas = ev.Message.Offset, 0
		wire = o.durable << offsetShift
		v = viewMessage(*ev.Message)
	case beeos.EventDelta:
		if o.deltas < 1<<offsetShift-1 { // past that, a few deltas share a number
			o.deltas++
		}
		wire = o.durable<<offsetShift | o.deltas
		v = viewDelta(ch, ev, wire)
	default:
		return "", nil, nil
	}
	data, err = json.Marshal(v)
	return strconv.FormatInt(wire, 10), data, err
}

func viewDelta(ch beeos.Channel, ev beeos.Event, wire int64) deltaView {
	v := deltaView{
		Channel: ch.ID, Offset: wire, Type: beeos.AgentReplyDelta, State: beeos.StateStreaming,
		InReplyTo: ev.Turn, Publisher: "agent:" + ch.AgentID, Body: ev.Text,
	}
	if ev.Reasoning != "" {
		part, _ := json.Marshal(map[string]string{"type": "thinking", "text": ev.Reasoning}) //nolint:errcheck // a map of strings
		v.Parts = append(v.Parts, part)
	}
	if ev.Part != nil {
		v.Parts = append(v.Parts, ev.Part)
	}
	return v
}
