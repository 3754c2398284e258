// Package codec reads and writes the frames of the agent protocol, one JSON
// object per line.
package codec

import (
	"encoding/json"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Decode reads one frame that an agent sent. Raw members share line's memory;
// members that agents have no business sending are ignored. A frame that comes
// with an error names at least what the error is about, if that can be read.
func Decode(line []byte) (f beeos.Frame, err error) {
	if err := strictjson.Check(line); err != nil {
		return readAddress(line), err
	}
	if line[0] != '{' {
		return f, beeos.Errorf(beeos.InvalidBody, "a frame is a JSON object")
	}
	for name, raw := range strictjson.Fields(line) {
		if raw[0] == 'n' { // null says nothing
			continue
		}
		if want := setMember(&f, name, raw); want != "" && err == nil {
			err = beeos.Errorf(beeos.InvalidBody, "%q must be %s", name, want)
		}
	}
	return f, err
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

// setMember sets one member of the frame. If the value is of the wrong kind it
// returns what it should have been.
func setMember(f *beeos.Frame, name string, raw []byte) (want string) {
	switch name {
	case "type":
		return setString(raw, (*string)(&f.Type))
	case "message_id":
		return setString(raw, &f.MessageID)
	case "agent_id":
		return setString(raw, &f.AgentID)
	case "body":
		return setString(raw, &f.Body)
	case "text":
		return setString(raw, &f.Text)
	case "reasoning":
		return setString(raw, &f.Reasoning)
	case "reason":
		return setString(raw, &f.Reason)
	case "stop_reason":
		return setString(raw, &f.StopReason)
	case "request_id":
		return setString(raw, &f.RequestID)
	case "key":
		return setString(raw, &f.Key)
	case "method":
		return setString(raw, &f.Method)
	case "level":
		return setString(raw, &f.Level)
	case "logger":
		return setString(raw, &f.Logger)
	case "uri":
		return setString(raw, &f.URI)
	case "parts":
		return setRaw(raw, &f.Parts, '[')
	case "payload":
		return setRaw(raw, &f.Payload, '{')
	case "part":
		return setRaw(raw, &f.Part, '{')
	case "skill":
		return setString(raw, &f.Skill)
	case "tool":
		return setString(raw, &f.Tool)
	case "arguments":
		return setRaw(raw, &f.Arguments, 0)
	case "auto":
		f.Auto = raw[0] == 't'
		return wantUnless(raw[0] == 't' || raw[0] == 'f', "true or false")
	case "params":
		return setRaw(raw, &f.Params, '{')
	case "data":
		return setRaw(raw, &f.Data, 0)
	case "progress":
		return setNumber(raw, &f.Progress)
	case "total":
		return setNumber(raw, &f.Total)
	case "is_error":
		f.IsError = raw[0] == 't'
		return wantUnless(raw[0] == 't' || raw[0] == 'f', "true or false")
	case "error":
		f.Error = new(beeos.FrameFault)
		return wantUnless(json.Unmarshal(raw, f.Error) == nil, "an object with code and message")
	}
	return ""
}

func wantUnless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

func setString(raw []byte, into *string) string {
	s, ok := strictjson.StringValue(raw)
	*into = s
	return wantUnless(ok, "a string")
}

// setRaw takes raw as it is if it opens with bracket, or anything for 0.
func setRaw(raw []byte, into *json.RawMessage, bracket byte) string {
	*into = raw
	if bracket == '[' {
		return wantUnless(raw[0] == '[', "an array")
	}
	return wantUnless(bracket == 0 || raw[0] == bracket, "an object")
}

func setNumber(raw []byte, into *float64) string {
	v, err := strconv.ParseFloat(string(raw), 64)
	*into = v
	return wantUnless(err == nil, "a number")
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
