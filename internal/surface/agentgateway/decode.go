package agentgateway

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// decode reads one frame that an agent sent. Raw members share line's memory;
// members that agents have no business to send are ignored.
func decode(line []byte) (f beeos.Frame, err error) {
	if err := httpd.Strict(line); err != nil {
		return addressed(line), err
	}
	if line[0] != '{' {
		return f, beeos.Errorf(beeos.InvalidBody, "a frame is a JSON object")
	}
	for name, raw := range httpd.Fields(line) {
		if raw[0] == 'n' { // null says nothing
			continue
		}
		if want := member(&f, name, raw); want != "" && err == nil {
			err = beeos.Errorf(beeos.InvalidBody, "%q must be %s", name, want)
		}
	}
	return f, err
}

// addressed reads from a frame that cannot be used what the complaint has to
// name: an agent that is not told which reply was refused waits for its
// acknowledgement, and its caller with it.
func addressed(line []byte) beeos.Frame {
	var about struct {
		Type      beeos.FrameType `json:"type"`
		MessageID string          `json:"message_id"`
		RequestID string          `json:"request_id"`
	}
	_ = json.Unmarshal(line, &about) // no JSON at all: then it names nothing
	return beeos.Frame{Type: about.Type, MessageID: about.MessageID, RequestID: about.RequestID}
}

// member sets one member of the frame; it returns what the value should have
// been if it is not.
func member(f *beeos.Frame, name string, raw []byte) (want string) {
	switch name {
	case "type":
		return text(raw, (*string)(&f.Type))
	case "message_id":
		return text(raw, &f.MessageID)
	case "agent_id":
		return text(raw, &f.AgentID)
	case "body":
		return text(raw, &f.Body)
	case "text":
		return text(raw, &f.Text)
	case "reasoning":
		return text(raw, &f.Reasoning)
	case "reason":
		return text(raw, &f.Reason)
	case "stop_reason":
		return text(raw, &f.StopReason)
	case "request_id":
		return text(raw, &f.RequestID)
	case "key":
		return text(raw, &f.Key)
	case "method":
		return text(raw, &f.Method)
	case "level":
		return text(raw, &f.Level)
	case "logger":
		return text(raw, &f.Logger)
	case "uri":
		return text(raw, &f.URI)
	case "parts":
		return kept(raw, &f.Parts, '[')
	case "payload":
		return kept(raw, &f.Payload, '{')
	case "part":
		return kept(raw, &f.Part, '{')
	case "skill":
		return text(raw, &f.Skill)
	case "tool":
		return text(raw, &f.Tool)
	case "arguments":
		return kept(raw, &f.Arguments, 0)
	case "auto":
		f.Auto = raw[0] == 't'
		return unless(raw[0] == 't' || raw[0] == 'f', "true or false")
	case "params":
		return kept(raw, &f.Params, '{')
	case "data":
		return kept(raw, &f.Data, 0)
	case "progress":
		return number(raw, &f.Progress)
	case "total":
		return number(raw, &f.Total)
	case "is_error":
		f.IsError = raw[0] == 't'
		return unless(raw[0] == 't' || raw[0] == 'f', "true or false")
	case "error":
		f.Error = new(beeos.FrameFault)
		return unless(json.Unmarshal(raw, f.Error) == nil, "an object with code and message")
	}
	return ""
}

func unless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

func text(raw []byte, into *string) string {
	s, ok := httpd.StringValue(raw)
	*into = s
	return unless(ok, "a string")
}

// kept takes raw as it is if it opens with bracket, or anything for 0.
func kept(raw []byte, into *json.RawMessage, bracket byte) string {
	*into = raw
	if bracket == '[' {
		return unless(raw[0] == '[', "an array")
	}
	return unless(bracket == 0 || raw[0] == bracket, "an object")
}

func number(raw []byte, into *float64) string {
	v, err := strconv.ParseFloat(string(raw), 64)
	*into = v
	return unless(err == nil, "a number")
}

// encode returns a frame of ours as one line. It cannot fail: the raw JSON in
// it was checked when it came in.
func encode(f *beeos.Frame) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(f)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// ackFrame says that the reply to a turn is durable. The turn's id is one of
// ours, so it needs no escaping.
func ackFrame(turn string, offset int64) []byte {
	b := make([]byte, 0, 96)
	b = append(append(b, `{"type":"ack","message_id":"`...), turn...)
	b = strconv.AppendInt(append(b, `","offset":`...), offset, 10)
	return append(b, '}')
}

// refusal says why a frame could not be used: an ack for a reply, so that the
// agent knows which, an error for anything else.
func refusal(f *beeos.Frame, err error) []byte {
	public := beeos.Public(err)
	out := beeos.Frame{Type: beeos.FrameError, MessageID: f.MessageID, RequestID: f.RequestID}
	if terminal(f.Type) && f.MessageID != "" {
		out.Type = beeos.FrameAck
	}
	out.Error = &beeos.FrameFault{Code: string(public.Code), Message: public.Message}
	return encode(&out)
}

// terminal reports whether a frame of this type ends a turn.
func terminal(t beeos.FrameType) bool {
	switch t {
	case beeos.FrameReply, beeos.FrameError, beeos.FrameRefuse, beeos.FrameBusy:
		return true
	}
	return false
}
