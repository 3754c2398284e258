package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

func TestRecentShowsTheseAgentsCallsAndNoOthers(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		clock := time.UnixMicro(1_700_000_000_000_000).UTC()
		l := open(Options{Now: func() time.Time { return clock }})
		tick := func() { clock = clock.Add(time.Second) }

		kept := request("agent_a") // an old channel in which the newest request is
		kept.Channel.SingleShot = false
		kept.Message.Publisher = "user:ann"
		kept.Message.Payload = []byte(`{"protocol":"mcp","method":"tools/call","tool":"add","arguments":{"n":1}}`)
		begin(t, l, kept)
		tick()
		if _, err := l.Finish(t.Context(), reply(kept, "2")); err != nil {
			t.Fatal(err)
		}
		foreign := request("agent_other")
		begin(t, l, foreign)
		tick()
		failed := request("agent_b")
		failed.Message.Publisher = "key:k1"
		begin(t, l, failed)
		tick()
		end := reply(failed, "no")
		end.Type, end.StopReason = beeos.AgentReplyError, beeos.StopTimeout
		if _, err := l.Finish(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		tick()
		again := request("agent_a")
		again.Channel, again.Fresh, again.Message.Channel = kept.Channel, false, kept.Channel.ID
		begin(t, l, again)

		got, err := l.RecentCalls(t.Context(), []string{"agent_a", "agent_b", "agent_idle"}, 10)
		if err != nil {
			t.Fatal(err)
		}
		type line struct {
			turn, agent, caller, tool string
			outcome                   beeos.MessageType
			took                      time.Duration
		}
		var lines []line
		for _, r := range got {
			lines = append(lines, line{r.Turn, r.AgentID, r.Caller, r.Tool, r.Outcome, r.Took})
		}
		want := []line{
			{again.Message.ID, "agent_a", again.Message.Publisher, "", "", 0},
			{failed.Message.ID, "agent_b", "key:k1", "", beeos.AgentReplyError, time.Second},
			{kept.Message.ID, "agent_a", "user:ann", "add", beeos.AgentReply, time.Second},
		}
		if diff := cmp.Diff(want, lines, cmp.AllowUnexported(line{})); diff != "" {
			t.Error(diff)
		}
		if few, err := l.RecentCalls(t.Context(), []string{"agent_a", "agent_b"}, 1); err != nil || len(few) != 1 || few[0].Turn != again.Message.ID {
			t.Errorf("a limit of one gave %+v, %v", few, err)
		}
		if none, err := l.RecentCalls(t.Context(), nil, 10); err != nil || len(none) != 0 {
			t.Errorf("nobody's agents have calls: %+v, %v", none, err)
		}
	})
}

func TestCallHeadReadsWhatIsCutOff(t *testing.T) {
	for text, want := range map[string][3]string{
		``:                         {},
		`null`:                     {},
		`{"protocol":"rest"}`:      {"rest"},
		`{"protocol":"mcp","meth`:  {"mcp"},
		`{"protocol":"mcp","tool"`: {"mcp"},
		`{"protocol":"mcp","method":"tools/call","tool":"add","arguments":{"tool":"x"`: {"mcp", "tools/call", "add"},
	} {
		var got [3]string
		got[0], got[1], got[2] = readCallHead([]byte(text))
		if got != want {
			t.Errorf("callHead(%q) = %q, want %q", text, got, want)
		}
	}
}
