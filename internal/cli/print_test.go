package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("x"), exitFailed},
		{beeos.Errorf(beeos.AgentNotFound, "x"), exitFailed},
		{fmt.Errorf("print: %w", errAgent), exitAgentError},
		{beeos.Errorf(beeos.ServiceTimeout, "x"), exitTimeout},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), exitTimeout},
		{hinted{beeos.Errorf(beeos.ServiceTimeout, "x"), "wait"}, exitTimeout},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestSentence(t *testing.T) {
	weather := &client.Agent{Name: "weather", Slug: "weather"}
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
		{offline(beeos.Errorf(beeos.AgentServiceUnavailable, "gone"), weather), `agent "weather" is offline — start it with: beeos agent run ./weather`},
		{beeos.Errorf(beeos.Forbidden, "\x1b[2Jno\nway"), "[2Jno way"},
	} {
		if got := sentence(c.err); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if err := offline(nil, weather); err != nil {
		t.Errorf("offline(nil) = %v", err)
	}
}

func TestAnswerPrinter(t *testing.T) {
	for name, c := range map[string]struct {
		deltas  []string
		final   string
		isError bool
		out     string
		err     string
		failed  bool
	}{
		"streamed":        {[]string{"a", "b"}, "ab", false, "ab\n", "", false},
		"not streamed":    {nil, "ab", false, "ab\n", "", false},
		"tail lost":       {[]string{"a"}, "ab", false, "ab\n", "", false},
		"middle lost":     {[]string{"a", "c"}, "abc", false, "ac\nabc\n", "", false},
		"failed":          {nil, "broken", true, "", "beeos: the agent failed: broken\n", true},
		"failed half-way": {[]string{"a"}, "broken", true, "a\nbroken\n", "", true},
	} {
		var out, errs strings.Builder
		p := &answerPrinter{t: newTerminal(nil, &out, &errs)}
		for _, d := range c.deltas {
			p.delta(d)
		}
		err := p.done(c.final, c.isError, nil)
		if out.String() != c.out || errs.String() != c.err || errors.Is(err, errAgent) != c.failed {
			t.Errorf("%s: out %q, err %q, %v", name, out.String(), errs.String(), err)
		}
	}
}

func TestScreen(t *testing.T) {
	t.Setenv("BEEOS_DATA", "")
	var out strings.Builder
	s := &screen{out: &out, me: "beeos"}
	s.ready(app.Info{
		Web: "http://localhost:3000", MCP: "http://localhost:8094", A2A: "http://localhost:8092", REST: "http://localhost:8095",
		Agents: "http://localhost:8083", AgentID: "agent_x", UserKey: "oag_k", Data: "./beeos-data", Took: 84 * time.Millisecond,
	})
	s.call(app.CallRecord{
		At: time.Date(2027, 1, 2, 12, 4, 31, 0, time.Local), Surface: "rest", Caller: "you", AgentName: "echo", What: "message",
		Outcome: "ok", Took: 41 * time.Millisecond, Preview: "hi \x1b[31mthere\nsecond line",
	})
	for _, want := range []string{
		"ready in 84 ms\n", "data in ./beeos-data\n", "  Web      http://localhost:3000\n", "  MCP      http://localhost:8094/agent_x/mcp\n",
		"  A2A      http://localhost:8092/agent_x\n", "  REST     http://localhost:8095/api/v1\n", "  Agents   http://localhost:8083 ",
		"  Try      beeos call echo \"hello\"\n", "Authorization: Bearer oag_k", "  Claude   claude mcp add --transport http echo http://localhost:8094/agent_x/mcp",
		"  Build    beeos agent new weather && beeos agent run ./weather\n",
		"  12:04:31  rest  you           echo            message         ok         41 ms   hi [31mthere second line\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the screen has no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("control characters reach what is no terminal:\n%q", out.String())
	}
}

// What is on the screen to be copied finds the server, wherever its data is.
func TestScreenElsewhere(t *testing.T) {
	t.Setenv("BEEOS_DATA", "/srv/others")
	var out strings.Builder
	(&screen{out: &out, me: "beeos"}).ready(app.Info{Data: "/srv/ann's bees"})
	for _, want := range []string{
		`  Try      beeos call echo "hello" --data '/srv/ann'\''s bees'` + "\n",
		`  Build    beeos agent new weather && beeos agent run --data '/srv/ann'\''s bees' ./weather` + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the screen has no %q:\n%s", want, out.String())
		}
	}
}

func TestServerChoice(t *testing.T) {
	data := t.TempDir()
	if _, err := (&server{Data: data}).client(); err == nil || !strings.Contains(sentence(err), "beeos dev") {
		t.Errorf("no server at all: %v", err)
	}
	dev := `{"rest":"http://localhost:8095","user_key":"oag_dev"}`
	if err := os.WriteFile(data+"/dev.json", []byte(dev), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    server
		want string // URL, or a part of the error
	}{
		{server{}, "http://localhost:8095"},
		{server{URL: "http://localhost:8095/"}, "http://localhost:8095"},
		{server{URL: "https://x", Key: "k"}, "https://x"},
		{server{Key: "k"}, "http://localhost:8095"},
		{server{URL: "https://x"}, "no key for https://x"},
	} {
		c.s.Data = data
		cl, err := c.s.client()
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c.s, err)
			}
			continue
		}
		if cl.URL() != c.want {
			t.Errorf("%+v: %s, want %s", c.s, cl.URL(), c.want)
		}
	}
}
