package cli

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
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitAgentError = 3 // the agent answered, with an error
	exitTimeout    = 4
)

// errAgent marks an answer in which the agent itself says that it failed.
// Its text has been printed by then.
var errAgent = errors.New("the agent answered with an error")

// exitCode is the one table from errors to exit codes.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errAgent):
		return exitAgentError
	case beeos.CodeOf(err) == beeos.ServiceTimeout, errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	return exitFailed
}

// fail prints err as one sentence and returns the exit code.
func (t *terminal) fail(err error) int {
	switch {
	case errors.Is(err, errAgent), errors.Is(err, errFindings):
		// said already
	case errors.Is(err, context.Canceled):
		t.say("stopped")
	default:
		t.say("%s", sentence(err))
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

// hinted is an error whose next step is known already.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// sentence says what is wrong and, where it is known, what to do about it.
func sentence(err error) string {
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
	if h, ok := errors.AsType[hinted](err); ok {
		text, hint = h.error.Error(), h.hint
		if e, ok := errors.AsType[*beeos.Error](h.error); ok {
			text = e.Message
		}
	}
	if hint == "" {
		return printable(text)
	}
	// The server advises those who write requests; this is for those who type.
	problem, _, _ := strings.Cut(text, ";")
	return printable(problem) + " — " + hint
}
