// Package codec reads and writes the frames of the agent protocol, one JSON
// object per line.
package codec

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Decode makes f the frame that an agent sent. Raw members share line's memory;
// members that agents have no business sending are ignored. A frame that comes
// with an error names at least what the error is about, if that can be read.
func Decode(line []byte, f *beeos.Frame) (wrong error) {
	if err := strictjson.Check(line); err != nil {
		*f = readAddress(line)
		return err
	}
	*f = beeos.Frame{}
	if line[0] != '{' {
		return beeos.Errorf(beeos.InvalidBody, "a frame is a JSON object")
	}
	for name, raw := range strictjson.Fields(line) {
		m, known := members[name]
		if !known || raw[0] == 'n' { // null says nothing
			continue
		}
		if !m.set(f, raw) && wrong == nil {
			wrong = beeos.Errorf(beeos.InvalidBody, "%q must be %s", name, m.want)
		}
	}
	return wrong
}

// readAddress reads from a frame that cannot be used what the refusal has to
// name: an agent that is not told which reply was refused waits for its
// acknowledgement, and its caller with it.
func readAddress(line []byte) beeos.Frame {
	var about struct {
		Type      beeos.FrameType `json:"type"`
		MessageID string          `json:"message_id"`
		RequestID string          `json:"request_id"`
	}
	_ = json.Unmarshal(line, &about) // not JSON at all: then it names nothing
	return beeos.Frame{Type: about.Type, MessageID: about.MessageID, RequestID: about.RequestID}
}

// member is how one member of a frame is read. set reports false for a value
// that is not what is wanted.
type member struct {
	want string
	set  func(f *beeos.Frame, raw []byte) bool
}

// members are those that agents may send.
var members = map[string]member{
	"type":        text(func(f *beeos.Frame) *string { return (*string)(&f.Type) }),
	"message_id":  text(func(f *beeos.Frame) *string { return &f.MessageID }),
	"agent_id":    text(func(f *beeos.Frame) *string { return &f.AgentID }),
	"body":        text(func(f *beeos.Frame) *string { return &f.Body }),
	"text":        text(func(f *beeos.Frame) *string { return &f.Text }),
	"reasoning":   text(func(f *beeos.Frame) *string { return &f.Reasoning }),
	"reason":      text(func(f *beeos.Frame) *string { return &f.Reason }),
	"stop_reason": text(func(f *beeos.Frame) *string { return &f.StopReason }),
	"request_id":  text(func(f *beeos.Frame) *string { return &f.RequestID }),
	"key":         text(func(f *beeos.Frame) *string { return &f.Key }),
	"method":      text(func(f *beeos.Frame) *string { return &f.Method }),
	"level":       text(func(f *beeos.Frame) *string { return &f.Level }),
	"logger":      text(func(f *beeos.Frame) *string { return &f.Logger }),
	"uri":         text(func(f *beeos.Frame) *string { return &f.URI }),
	"traceparent": text(func(f *beeos.Frame) *string { return &f.TraceParent }),
	"skill":       text(func(f *beeos.Frame) *string { return &f.Skill }),
	"tool":        text(func(f *beeos.Frame) *string { return &f.Tool }),
	"payload":     document("an object", "{", func(f *beeos.Frame) *json.RawMessage { return &f.Payload }),
	"part":        document("an object", "{", func(f *beeos.Frame) *json.RawMessage { return &f.Part }),
	"params":      document("an object", "{", func(f *beeos.Frame) *json.RawMessage { return &f.Params }),
	"parts":       document("an array", "[", func(f *beeos.Frame) *json.RawMessage { return &f.Parts }),
	"steps":       document("an array", "[", func(f *beeos.Frame) *json.RawMessage { return &f.Steps }),
	"usage":       document("an array", "[", func(f *beeos.Frame) *json.RawMessage { return &f.Usage }),
	"arguments":   document("JSON", "", func(f *beeos.Frame) *json.RawMessage { return &f.Arguments }),
	"data":        document("JSON", "", func(f *beeos.Frame) *json.RawMessage { return &f.Data }),
	"progress":    number(func(f *beeos.Frame) *float64 { return &f.Progress }),
	"total":       number(func(f *beeos.Frame) *float64 { return &f.Total }),
	"auto":        truth(func(f *beeos.Frame) *bool { return &f.Auto }),
	"is_error":    truth(func(f *beeos.Frame) *bool { return &f.IsError }),
	"error": {"an object with code and message", func(f *beeos.Frame, raw []byte) bool {
		f.Error = new(beeos.FrameFault)
		return json.Unmarshal(raw, f.Error) == nil
	}},
}

func text(at func(*beeos.Frame) *string) member {
	return member{"a string", func(f *beeos.Frame, raw []byte) (ok bool) {
		*at(f), ok = strictjson.StringValue(raw)
		return ok
	}}
}

// document is JSON that is kept as it is, if it opens with a bracket.
func document(want, bracket string, at func(*beeos.Frame) *json.RawMessage) member {
	return member{want, func(f *beeos.Frame, raw []byte) bool {
		*at(f) = raw
		return bytes.HasPrefix(raw, []byte(bracket))
	}}
}

func number(at func(*beeos.Frame) *float64) member {
	return member{"a number", func(f *beeos.Frame, raw []byte) bool {
		v, err := strconv.ParseFloat(string(raw), 64)
		*at(f) = v
		return err == nil
	}}
}

func truth(at func(*beeos.Frame) *bool) member {
	return member{"true or false", func(f *beeos.Frame, raw []byte) bool {
		*at(f) = raw[0] == 't'
		return raw[0] == 't' || raw[0] == 'f'
	}}
}

// Encode returns a frame for an agent as one line. It cannot fail: the raw JSON
// in it was checked when it came in.
func Encode(f *beeos.Frame) []byte {
	line, _ := beeos.EncodeJSON(f)
	return line
}

// Ack says that the reply to a turn is durable. The turn's id is one of ours, so
// it needs no escaping.
func Ack(turn string, offset int64) []byte {
	b := make([]byte, 0, 96)
	b = append(append(b, `{"type":"ack","message_id":"`...), turn...)
	b = strconv.AppendInt(append(b, `","offset":`...), offset, 10)
	return append(b, '}')
}

// Refusal says why a frame could not be used: an ack for a reply, so that the
// agent knows which one, an error for anything else.
func Refusal(f *beeos.Frame, err error) []byte {
	out := beeos.Frame{Type: beeos.FrameError, MessageID: f.MessageID, RequestID: f.RequestID}
	if endsTurn(f.Type) && f.MessageID != "" {
		out.Type = beeos.FrameAck
	}
	out.Error = Fault(err)
	return Encode(&out)
}

// Fault is an error as an agent gets to see it.
func Fault(err error) *beeos.FrameFault {
	public := beeos.Public(err)
	return &beeos.FrameFault{Code: string(public.Code), Message: public.Message}
}

// Ended tells an agent that nobody waits for its answer any more.
func Ended(turn string) []byte {
	return Encode(&beeos.Frame{Type: beeos.FrameCancel, MessageID: turn, Reason: "the request has ended"})
}

// endsTurn reports whether a frame of this type ends a turn.
func endsTurn(t beeos.FrameType) bool {
	switch t {
	case beeos.FrameReply, beeos.FrameError, beeos.FrameRefuse, beeos.FrameBusy:
		return true
	}
	return false
}
