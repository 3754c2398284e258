package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// What comes for every call, a chat_message and the ack of its reply, is read member
// by member: encoding/json would look at the arguments in it six times. The rest
// of the frames are rare.

var errNotJSON = errors.New("it is not valid JSON")

// readFrame reads a frame from the gateway. Of a chat_message only the type is read,
// by readMessage the rest.
func readFrame(line []byte) (f beeos.Frame, err error) {
	if !json.Valid(line) {
		return f, errNotJSON
	}
	kind, _ := strictjson.StringField(line, "type")
	switch f.Type = beeos.FrameType(kind); f.Type {
	case beeos.FrameMessage:
		return f, nil
	case beeos.FrameAck:
		if strictjson.Field(line, "error") == nil {
			f.MessageID, _ = strictjson.StringField(line, "message_id")
			return f, nil
		}
	}
	err = json.Unmarshal(line, &f)
	return f, err
}

// readMessage reads a chat_message that readFrame has let through. A message that comes
// with an error has at least its id, if that can be read.
func readMessage(line []byte) (m Message, err error) {
	line = bytes.Clone(line) // the message keeps parts of it
	m.Attempt = 1
	var parent, state string
	for name, raw := range strictjson.Fields(line) {
		if raw[0] == 'n' { // null says nothing
			continue
		}
		ok := true
		switch name {
		case "message_id":
			m.ID, ok = strictjson.StringValue(raw)
		case "channel_id":
			m.Channel, ok = strictjson.StringValue(raw)
		case "publisher_id":
			m.From, ok = strictjson.StringValue(raw)
		case "body":
			m.Text, ok = strictjson.StringValue(raw)
		case "offset":
			m.Offset, ok = wholeNumber(raw)
		case "attempt":
			var n int64
			n, ok = wholeNumber(raw)
			m.Attempt = max(int(n), 1)
		case "deadline_ms":
			var ms int64
			if ms, ok = wholeNumber(raw); ms > 0 {
				m.Deadline = time.UnixMilli(ms)
			}
		case "parts":
			m.Parts = raw
		case "payload":
			if wrong := m.readCall(raw); wrong != nil && err == nil {
				err = wrong
			}
		case "traceparent":
			parent, ok = strictjson.StringValue(raw)
		case "tracestate":
			state, ok = strictjson.StringValue(raw)
		case "spans":
			m.spans = string(raw) == "true"
		}
		if !ok && err == nil {
			err = fmt.Errorf("read %s: it is of another type", name)
		}
	}
	m.Trace = beeos.ParseTrace(parent, state)
	m.spans = m.spans && m.Trace.IsSampled()
	return m, err
}

// readCall reads the payload of a message, a beeos.Call.
func (m *Message) readCall(payload []byte) error {
	for name, raw := range strictjson.Fields(payload) {
		if raw[0] == 'n' && name != "arguments" && name != "params" {
			continue
		}
		ok, err := true, error(nil)
		switch name {
		case "protocol":
			m.Protocol, ok = strictjson.StringValue(raw)
		case "revision":
			m.Revision, ok = strictjson.StringValue(raw)
		case "method":
			m.Method, ok = strictjson.StringValue(raw)
		case "tool":
			m.Tool, ok = strictjson.StringValue(raw)
		case "model":
			m.Model, ok = strictjson.StringValue(raw)
		case "state":
			m.State, ok = strictjson.StringValue(raw)
		case "arguments":
			m.Arguments = raw
		case "params":
			m.Params = raw
		case "metadata":
			err = json.Unmarshal(raw, &m.Metadata)
		case "can":
			err = json.Unmarshal(raw, &m.can)
		case "attachments":
			err = json.Unmarshal(raw, &m.Attachments)
		case "input":
			err = json.Unmarshal(raw, &m.Input)
		case "trial":
			err = json.Unmarshal(raw, &m.Trial)
		}
		if !ok {
			err = errors.New("it is no text")
		}
		if err != nil {
			return fmt.Errorf("read %s of the call: %w", name, err)
		}
	}
	return nil
}

func wholeNumber(raw []byte) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}
