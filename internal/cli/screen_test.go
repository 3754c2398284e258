package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/app"
)

func TestScreen(t *testing.T) {
	t.Setenv("BEEOS_DATA", "")
	var out strings.Builder
	s := &screen{out: &out, me: "beeos"}
	s.showStart(app.Info{
		DevFile: app.DevFile{
			Web: "http://localhost:3000", MCP: "http://localhost:8094", A2A: "http://localhost:8092", REST: "http://localhost:8095",
			Agents: "http://localhost:8083", AgentID: "agent_x", UserKey: "oag_k",
		},
		Data: "./beeos-data", Took: 84 * time.Millisecond,
	})
	s.showCall(app.CallRecord{
		At: time.Date(2027, 1, 2, 12, 4, 31, 0, time.Local), Surface: "rest", Caller: "you", AgentName: "echo", What: "message",
		Outcome: "ok", Took: 41 * time.Millisecond, Preview: "hi \x1b[31mthere\nsecond line",
	})
	for _, want := range []string{
		"ready in 84 ms\n", "data in ./beeos-data\n", "  Web      http://localhost:3000\n", "  MCP      http://localhost:8094/agent_x/mcp\n",
		"  A2A      http://localhost:8092/agent_x/\n", "  REST     http://localhost:8095/api/v1\n", "  Agents   http://localhost:8083 ",
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
	(&screen{out: &out, me: "beeos"}).showStart(app.Info{Data: "/srv/ann's bees"})
	for _, want := range []string{
		`  Try      beeos call echo "hello" --data '/srv/ann'\''s bees'` + "\n",
		`  Build    beeos agent new weather && beeos agent run --data '/srv/ann'\''s bees' ./weather` + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the screen has no %q:\n%s", want, out.String())
		}
	}
}
