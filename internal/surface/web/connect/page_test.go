package connect

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPagesRenderEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		one := data{Way: way{Bridge: Bridge{Name: "exec", Title: "Any <b>", About: "A program.", Sample: "import sys"}}, Name: "we <i>", Await: n > 0}
		one.Fields = pagetest.Repeat(n, func(i int) field {
			return field{Option{Flag: fmt.Sprint("flag", i), Help: "It is <needed>.", Example: "x", Switch: i%2 == 1}, "<value>"}
		})
		if n == 60 {
			one.Found = &found{page.AgentRow{ID: "agent_0", Title: "A", Online: true, Chats: true, Skills: 1}, []page.Snippet{{ID: "x", Title: "X", Code: "<code>"}}}
			one.Steps, one.Fields = []command{{Title: "Run:", Code: "x <y>", Label: "it"}}, nil
		}
		return map[string]any{
			"connect":      one,
			"connect_ways": pagetest.Repeat(n, func(i int) way { return way{Bridge: Bridge{Name: fmt.Sprint("way", i)}, To: "/connect/x"} }),
		}
	}, map[string]string{"connect_ways": `data-way="`})
}

// TestShellReadsWhatWasTyped: whatever a person fills in is one word to a shell.
func TestShellReadsWhatWasTyped(t *testing.T) {
	for _, word := range []string{"./agent", "python3 agent.py --fast", `it's "quoted" $HOME ` + "`id`" + ` \\ !`, "", "*", "a\nb", "ünïcode"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s|' "+quoteWord(word)).Output()
		if err != nil || string(out) != word+"|" {
			t.Errorf("%q is read as %q, %v", word, out, err)
		}
	}
	d := data{Name: "we're", Fields: []field{{Option{Flag: "exec"}, "-x y"}, {Option{Flag: "model"}, ""}, {Option{Flag: "on", Switch: true}, "on"}, {Option{Flag: "off", Switch: true}, ""}}}
	want := "AGENT_GATEWAY_URL=http://gw:1 \\\nBEEOS_JOIN_TOKEN=t \\\n  beeos connect --name 'we'\\''re' --exec='-x y' --on"
	if got := bridgeCommands(&d, access{"http://gw:1", "t"})[0].Code; got != want {
		t.Errorf("the command is\n%s\nwant\n%s", got, want)
	}
}
