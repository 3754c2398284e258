package manage

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

func TestOfflineAgentIsNamed(t *testing.T) {
	weather := &client.Agent{Name: "weather", Slug: "weather"}
	got := terminal.Sentence(hintOffline(beeos.Errorf(beeos.AgentServiceUnavailable, "gone"), weather))
	if want := `agent "weather" is offline — start it with: beeos agent run ./weather`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := hintOffline(nil, weather); err != nil {
		t.Errorf("hintOffline(nil) = %v", err)
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
		p := &answerPrinter{t: terminal.New(nil, &out, &errs)}
		for _, d := range c.deltas {
			p.delta(d)
		}
		err := p.done(c.final, c.isError, nil)
		if out.String() != c.out || errs.String() != c.err || errors.Is(err, terminal.ErrAgent) != c.failed {
			t.Errorf("%s: out %q, err %q, %v", name, out.String(), errs.String(), err)
		}
	}
}

func TestServerChoice(t *testing.T) {
	data := t.TempDir()
	if _, err := (&Server{Data: data}).ProvideClient(); err == nil || !strings.Contains(terminal.Sentence(err), "beeos dev") {
		t.Errorf("no server at all: %v", err)
	}
	dev := `{"rest":"http://localhost:8095","user_key":"oag_dev"}`
	if err := os.WriteFile(data+"/dev.json", []byte(dev), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    Server
		want string // URL, or a part of the error
	}{
		{Server{}, "http://localhost:8095"},
		{Server{URL: "http://localhost:8095/"}, "http://localhost:8095"},
		{Server{URL: "https://x", Key: "k"}, "https://x"},
		{Server{Key: "k"}, "http://localhost:8095"},
		{Server{URL: "https://x"}, "no key for https://x"},
	} {
		c.s.Data = data
		cl, err := c.s.ProvideClient()
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
