package terminal

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// Exit codes; scripts depend on them.
const (
	ExitOK         = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitAgentError = 3 // the agent answered, with an error
	ExitTimeout    = 4
)

var (
	// ErrAgent marks an answer in which the agent itself says that it failed.
	// Its text has been printed by then.
	ErrAgent = errors.New("the agent answered with an error")

	// ErrFindings says that doctor found something; it has told what by then.
	ErrFindings = errors.New("some checks failed")
)

// exitCode is the one table from errors to exit codes.
func exitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrAgent):
		return ExitAgentError
	case beeos.CodeOf(err) == beeos.ServiceTimeout, errors.Is(err, context.DeadlineExceeded):
		return ExitTimeout
	}
	return ExitFailed
}

// Fail prints err as one sentence and returns the exit code.
func (t *Terminal) Fail(err error) int {
	switch {
	case errors.Is(err, ErrAgent), errors.Is(err, ErrFindings):
		// said already
	case errors.Is(err, context.Canceled):
		t.Say("stopped")
	default:
		t.Say("%s", Sentence(err))
	}
	return exitCode(err)
}

// hints is what to do about an error of the server.
var hints = map[beeos.Code]string{
	beeos.AgentNotFound:  "see which there are with: beeos agent list",
	beeos.MissingToken:   "set BEEOS_KEY to a key from: beeos keys create",
	beeos.InvalidToken:   "check BEEOS_KEY, or make another key with: beeos keys create",
	beeos.Unauthorized:   "set BEEOS_KEY to a user key (oag_)",
	beeos.ServiceTimeout: "give it longer with --timeout",
	beeos.InternalError:  "the server's log says more",
}

// hinted is an error whose next step is known already. It is a pointer always:
// kong asks the errors of providers whether they are nil.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// AddHint names the next step of an error.
func AddHint(err error, hint string) error { return &hinted{err, hint} }

// Hint makes an error and names its next step.
func Hint(problem, hint string) error { return &hinted{errors.New(problem), hint} }

// HintOn replaces an error of that code, and leaves all others alone.
func HintOn(code beeos.Code, err error, problem, hint string) error {
	if err != nil && beeos.CodeOf(err) == code {
		return Hint(problem, hint)
	}
	return err
}

// Sentence says what is wrong and, where it is known, what to do about it.
func Sentence(err error) string {
	text, hint := err.Error(), ""
	if e, ok := errors.AsType[*beeos.Error](err); ok {
		text, hint = e.Message, hints[e.Code]
	}
	if e, ok := errors.AsType[*client.UnreachableError](err); ok {
		hint = "check BEEOS_URL"
		if errors.Is(err, syscall.ECONNREFUSED) {
			text, hint = "nothing answers at "+e.URL, "start a server with: beeos dev, or point BEEOS_URL at one"
		}
	}
	if h, ok := errors.AsType[*hinted](err); ok {
		text, hint = h.error.Error(), h.hint
		if e, ok := errors.AsType[*beeos.Error](h.error); ok {
			text = e.Message
		}
	}
	if hint == "" {
		return Printable(text)
	}
	// The server advises those who write requests; this is for those who type.
	problem, _, _ := strings.Cut(text, ";")
	return Printable(problem) + " — " + hint
}
