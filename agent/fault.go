package agent

import (
	"errors"

	"github.com/beeos/beeos"
)

// Fault is an error of the caller's protocol: it tells the program that calls,
// not the model behind it, that there is no answer. A handler that returns any
// other error gives an answer that says what went wrong.
type Fault struct {
	Code    int    `json:"code"` // JSON-RPC's
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *Fault) Error() string { return f.Message }

// Fault ends the answer with an error of the caller's protocol.
func (r *Reply) Fault(code int, message string, data any) error {
	return r.endFault(&Fault{Code: code, Message: message, Data: data})
}

// missingCapability is MCP's code for a call that needs more of its client.
const missingCapability = -32021

// cannotAsk is ErrCannotAsk that knows what was missing.
type cannotAsk struct{ capability, method string }

func (e *cannotAsk) Error() string        { return e.method + ": " + ErrCannotAsk.Error() }
func (e *cannotAsk) Is(target error) bool { return target == ErrCannotAsk }

// faultOf returns what err tells the caller's program, or nil. An agent that
// gives up because it cannot ask says what the client would have to support.
func faultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if c, ok := errors.AsType[*cannotAsk](err); ok {
		return &Fault{
			Code: missingCapability, Message: err.Error(),
			Data: map[string]any{"requiredCapabilities": map[string]any{c.capability: struct{}{}}},
		}
	}
	return nil
}

// endFault ends the answer with f.
func (r *Reply) endFault(f *Fault) error {
	if err := r.setPayload("error", f); err != nil { // its data is no JSON
		_ = r.setPayload("error", Fault{Code: f.Code, Message: f.Message})
	}
	return r.end(beeos.Frame{Type: beeos.FrameError, Body: f.Message, StopReason: beeos.StopError})
}
