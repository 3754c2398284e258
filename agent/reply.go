package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

const (
	// maxReply is how large one answer, or any other frame, may be on the wire;
	// larger things are files. A gateway hangs up on what is much larger.
	maxReply = 1 << 20

	// maxPiece is how much text one frame carries, whatever JSON makes of it.
	maxPiece = 128 << 10
)

var errTooLarge = fmt.Errorf("it is larger than %d bytes; send large things as files", maxReply)

// ErrEnded is returned when an answer that has ended is ended again.
var ErrEnded = errors.New("this answer has ended already")

// Reply is the answer to one message, in the making. Its methods may be
// called from several goroutines. A handler that returns nil without ending
// the answer ends it with what it has streamed and added.
type Reply struct {
	a             *Agent
	m             Message
	ctx           context.Context
	cancel        context.CancelCauseFunc
	continuations chan beeos.Frame // user.continue and user.auth_grant
	began         time.Time

	mu       sync.Mutex
	body     []byte            // what was streamed
	parts    []json.RawMessage // content besides the text
	texts    string            // of the parts that are text
	payload  map[string]json.RawMessage
	steps    []beeos.Step
	usage    []beeos.Usage  // as the author says it
	beyond   []beeos.Usage  // of steps that are too many to be kept
	asked    map[string]int // questions so far, by what they ask for
	terminal []byte         // the terminal frame; set once
	retries  int            // how often the gateway could not take it
	refused  bool           // the gateway will never take what the handler made
}

// Delta streams a piece of the answer's text. The error, which may be left
// alone, says that it is no longer wanted: the caller has cancelled, the
// deadline has passed, or the answer has ended.
func (r *Reply) Delta(text string) error {
	r.mu.Lock()
	if r.terminal == nil && len(r.body) <= maxReply {
		r.body = append(r.body, text...)
	}
	r.mu.Unlock()
	return r.streamPieces(text, func(piece string) beeos.Frame { return beeos.Frame{Type: beeos.FrameDelta, Text: piece} })
}

// Reasoning streams a piece of what the agent thinks. It is not part of the
// answer.
func (r *Reply) Reasoning(text string) error {
	return r.streamPieces(text, func(piece string) beeos.Frame { return beeos.Frame{Type: beeos.FrameDelta, Reasoning: piece} })
}

// streamPieces streams text in frames that the gateway takes. No character is torn.
func (r *Reply) streamPieces(text string, frame func(piece string) beeos.Frame) error {
	for text != "" {
		cut := min(len(text), maxPiece)
		for back := 1; back < utf8.UTFMax && cut < len(text) && !utf8.RuneStart(text[cut]); back++ {
			cut--
		}
		if err := r.streamFrame(frame(text[:cut])); err != nil {
			return err
		}
		text = text[cut:]
	}
	return context.Cause(r.ctx)
}

// Progress tells watching callers how far the work is; total 0 = unknown.
func (r *Reply) Progress(done, total float64, message string) error {
	return r.streamFrame(beeos.Frame{Type: beeos.FrameProgress, Progress: done, Total: total, Text: message})
}

// Log sends a log record to a watching caller. data is anything that JSON can
// carry.
func (r *Reply) Log(level slog.Level, logger string, data any) {
	raw, err := beeos.EncodeJSON(data)
	if err != nil {
		raw, _ = beeos.EncodeJSON(fmt.Sprint(data))
	}
	_ = r.streamFrame(beeos.Frame{Type: beeos.FrameLog, Level: levelName(level), Logger: logger, Data: raw})
}

// LogAs is Log with a level in the words of RFC 5424, as MCP has them: debug,
// info, notice, warning, error, critical, alert, emergency.
func (r *Reply) LogAs(level, logger string, data json.RawMessage) {
	_ = r.streamFrame(beeos.Frame{Type: beeos.FrameLog, Level: level, Logger: logger, Data: data})
}

// LogForOwner logs a line for the owner of the agent alone, who finds the newest on
// its page in the console. Callers do not see it.
func (r *Reply) LogForOwner(level slog.Level, logger, text string) {
	raw, _ := beeos.EncodeJSON(text) // a string
	_ = r.streamFrame(beeos.Frame{Type: beeos.FrameLog, Level: levelName(level), Logger: logger, Data: raw, Reason: beeos.LogForOwner})
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warning"
	}
	return "error"
}

// Background says that the answer takes longer than the caller should hold the
// line. A caller that knows tasks gets one and comes back for the answer; what
// is asked from here on is asked through the task. Others just wait. The
// handler goes on as before.
func (r *Reply) Background() error {
	return r.streamFrame(beeos.Frame{Type: beeos.FrameBackground})
}

// Send ends the answer: its text is what was streamed, then text.
func (r *Reply) Send(text string) error {
	r.mu.Lock()
	body := string(r.body) + text
	r.mu.Unlock()
	return r.end(beeos.Frame{Type: beeos.FrameReply, Body: body})
}

// Correct ends the answer with text, whatever was streamed before: for what
// turned out to be otherwise on the way.
func (r *Reply) Correct(text string) error {
	return r.end(beeos.Frame{Type: beeos.FrameReply, Body: text})
}

// Fail ends the answer as a failure of the agent's; text tells the caller (or
// its model) what went wrong.
func (r *Reply) Fail(text string) error {
	return r.end(beeos.Frame{Type: beeos.FrameReply, Body: text, IsError: true, StopReason: beeos.StopError})
}

// Refuse ends the answer by declining to give one.
func (r *Reply) Refuse(reason string) error {
	return r.end(beeos.Frame{Type: beeos.FrameRefuse, Body: reason})
}

// Busy ends the answer by asking the caller to come back later.
func (r *Reply) Busy(reason string) error {
	return r.end(beeos.Frame{Type: beeos.FrameBusy, Body: reason})
}

// Agent is the agent that answers.
func (r *Reply) Agent() *Agent { return r.a }

// History reads the conversation that the message belongs to, oldest first.
func (r *Reply) History(ctx context.Context) ([]beeos.Message, error) {
	return r.a.gw.readHistory(ctx, r.m.Channel)
}

// streamFrame sends a frame that may be lost. It holds the handler back while the
// connection is slower than the handler.
func (r *Reply) streamFrame(f beeos.Frame) error {
	if r.hasEnded() {
		return ErrEnded
	}
	f.MessageID = r.m.ID
	frame := encode(f)
	if len(frame) > maxReply {
		return errTooLarge
	}
	if l := r.a.currentLink(); l != nil {
		l.waitForRoom(r.ctx)
		l.send(frame)
	}
	return context.Cause(r.ctx)
}

// end makes f the terminal frame, keeps it until the gateway has it, and
// sends it.
func (r *Reply) end(f beeos.Frame) error {
	r.mu.Lock()
	if r.terminal != nil {
		r.mu.Unlock()
		return ErrEnded
	}
	f.MessageID = r.m.ID
	if f.Type == beeos.FrameReply && f.Body == "" {
		f.Body = r.texts // for callers that read nothing but the text
	}
	if len(r.parts) > 0 {
		f.Parts, _ = beeos.EncodeJSON(r.parts) // each is JSON already
	}
	if len(r.payload) > 0 {
		f.Payload, _ = beeos.EncodeJSON(r.payload) // each value is JSON already
	}
	f.Steps, f.Usage = r.tellSteps()
	final := encode(f)
	if len(final) > maxReply && f.Steps != nil { // they are worth less than the answer
		f.Steps, f.Usage = nil, encodeUsage(r.countUsage())
		final = encode(f)
	}
	if len(final) > maxReply {
		text := fmt.Sprintf("the agent's answer is too large (%d bytes, the limit is %d); it should send a link to a file", len(final), maxReply)
		final = r.failure(text)
	}
	r.terminal, r.body, r.parts, r.payload, r.steps, r.usage, r.beyond = final, nil, nil, nil, nil, nil, nil
	r.mu.Unlock()
	r.a.send(final)
	return nil
}

// failure is a terminal frame that says why there is no answer.
func (r *Reply) failure(text string) []byte {
	return encode(beeos.Frame{Type: beeos.FrameReply, MessageID: r.m.ID, Body: text, IsError: true, StopReason: beeos.StopError})
}

// sendAgain says again, on a new connection, what the gateway may have missed.
func (r *Reply) sendAgain() {
	r.mu.Lock()
	final, text := r.terminal, string(r.body)
	r.mu.Unlock()
	if final != nil {
		r.a.send(final)
		return
	}
	if text != "" {
		said := encode(beeos.Frame{Type: beeos.FrameDelta, MessageID: r.m.ID, Text: text, Reason: "replay"})
		if len(said) <= maxReply { // else it will be no answer either
			r.a.send(said)
		}
	}
	for _, frame := range r.a.lastingQuestions(r.m.ID) {
		r.a.send(frame)
	}
}

// hasEnded reports whether the answer has its terminal frame.
func (r *Reply) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.terminal != nil
}

// encode returns f as one line. It cannot fail: raw JSON was checked when the
// author handed it over.
func encode(f beeos.Frame) []byte {
	b, _ := beeos.EncodeJSON(f)
	return b
}
