package check

import (
	"context"
	"fmt"
)

// scenario is something that is tried with the agent.
type scenario struct {
	name     string
	expected string   // in one line
	tools    []string // that the agent must declare
	notExec  string   // why it is not tried with a program behind --exec; "" = it is
	try      func(ctx context.Context, w *world) error
}

const (
	noLine = "the lines of --exec have no word for it"
	once   = "a program behind --exec cannot declare redelivery: always"
)

// scenarios are all that there are, in the order in which they are tried: those
// that kill somebody come last.
var scenarios = []scenario{
	{"message", "what is said is answered", nil, "", answerMessage},
	{"tools list", "declared tools are listed, with their schemas", []string{"add"}, "", listTools},
	{"tool call", "the tool gets the arguments, the caller its result", []string{"add"}, "", callTool},
	{"bad arguments", "refused before the agent sees them", []string{"add", "count"}, "", refuseArguments},
	{"unknown tool", "refused", nil, "", refuseTool},
	{"streaming", "deltas come before the reply, which has the whole text", []string{"stream"}, "", streamPieces},
	{"reasoning", "thoughts reach watching callers, and are not in the answer", []string{"think"}, "", streamThoughts},
	{"progress", "how far the work is reaches an MCP client", []string{"progress"}, "", tellProgress},
	{"log", "log records reach an MCP client", []string{"log"}, noLine, tellLog},
	{"cancel", "the handler learns that nobody wants the answer", []string{"wait", "count"}, "", cancelWork},
	{"elicit", "the caller is asked, accepts, and declines", []string{"elicit"}, noLine, elicitName},
	{"approve", "a yes lets the tool go ahead, a no comes with its reason", []string{"approve"}, "", approveTool},
	{"input required", "the turn pauses until the person says more", []string{"pause"}, noLine, pauseTask},
	{"need input", "the caller asks again, with the answers and the state", []string{"confirm"}, noLine, confirmAgain},
	{"files", "files come in and go out", []string{"files"}, "", exchangeFiles},
	{"large text", "a million bytes there and back", nil, "", echoLargeText},
	{"odd text", "emoji, U+2028 and control characters come back as they were", nil, "", echoOddText},
	{"odd JSON", "deep, empty and odd values come back as they were", []string{"echo"}, "", echoOddJSON},
	{"concurrent calls", "eight at once, and each gets its own answer", []string{"meet"}, "", answerAtOnce},
	{"steps", "the owner sees what was done, and with which tokens", []string{"steps"}, noLine, tellSteps},
	{"usage", "what the answer took of models is counted", []string{"usage"}, noLine, tellUsage},
	{"error", "a failure is an answer that is marked as one", []string{"fail"}, "", failOpenly},
	{"refuse", "the agent may decline", []string{"refuse"}, noLine, declineOpenly},
	{"gateway killed", "the turn in flight goes on, and is not run twice", []string{"hold", "release", "count"}, "", killGateway},
	{"agent killed", "its turn goes to the next instance, as attempt 2", []string{"hold", "release", "count"}, "", killAgent},
	{"drain", "on SIGTERM work in flight ends, and nothing new is taken", []string{"slow", "who"}, "", drainAgent},
	{"killed under load", "no call is lost or done twice", []string{"tally", "count"}, once, killUnderLoad},
	{"unknown frames", "frames and members of a later version are ignored", []string{"stream"}, "", sendUnknownFrames},
}

// missingError says why a scenario cannot be tried with this agent.
type missingError struct{ why string }

func (e *missingError) Error() string { return e.why }

// start tries the scenario, if the agent is able to play it.
func (s *scenario) start(ctx context.Context, w *world) error {
	if w.program.exec && s.notExec != "" {
		return &missingError{s.notExec}
	}
	for _, tool := range s.tools {
		if _, ok := w.tools[tool]; !ok {
			return &missingError{fmt.Sprintf("the agent declares no tool %q", tool)}
		}
	}
	return s.try(ctx, w)
}
