package terminal

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitOK},
		{errors.New("x"), ExitFailed},
		{beeos.Errorf(beeos.AgentNotFound, "x"), ExitFailed},
		{fmt.Errorf("print: %w", ErrAgent), ExitAgentError},
		{beeos.Errorf(beeos.ServiceTimeout, "x"), ExitTimeout},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), ExitTimeout},
		{AddHint(beeos.Errorf(beeos.ServiceTimeout, "x"), "wait"), ExitTimeout},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestSentence(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"},
		{beeos.Wrap(beeos.Conflict, errors.New("inner"), "outer; do this"), "outer; do this"},
		{beeos.Errorf(beeos.InvalidToken, "bad key; send another"), "bad key — check BEEOS_KEY, or make another key with: beeos keys create"},
		{&client.UnreachableError{URL: "x", Err: syscall.ECONNREFUSED}, "nothing answers at x — start a server with: beeos dev, or point BEEOS_URL at one"},
		{&client.UnreachableError{URL: "https://x", Err: errors.New("no TLS there")}, "https://x cannot be reached: no TLS there — check BEEOS_URL"},
		{fmt.Errorf("database: %w", syscall.ECONNREFUSED), "database: connection refused"},
		{HintOn(beeos.NotFound, beeos.Errorf(beeos.NotFound, "gone"), "no such thing", "list them"), "no such thing — list them"},
		{HintOn(beeos.NotFound, errors.New("plain"), "no such thing", "list them"), "plain"},
		{beeos.Errorf(beeos.Forbidden, "\x1b[2Jno\nway"), "[2Jno way"},
	} {
		if got := Sentence(c.err); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
