package rest_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

type callJSON struct {
	ID, Tool, Surface, Caller, Outcome string
	CallerName                         string  `json:"caller_name"`
	TookMS                             float64 `json:"took_ms"`
	BeganAt                            string  `json:"began_at"`
}

type callsJSON struct {
	Calls []callJSON
	Next  string `json:"next_since"`
}

type callDetailJSON struct {
	callJSON
	Request  struct{ Text string }
	Reply    *struct{ Text string }
	Attempts []struct{ Number int }
	Timeline []struct{ Event, Who, What string }
}

// TestOwnersSeeCalls of their agents, whoever made them, and can look into each.
func TestOwnersSeeCalls(t *testing.T) {
	s := start(t)
	s.play(func(f beeos.Frame) *beeos.Message {
		switch f.Body {
		case "fail":
			return &beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, StopReason: beeos.StopError, Body: "broken"}
		case "wait":
			return nil
		}
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "you said " + f.Body}
	})
	key := ok[madeKey](s, "POST", "/api/v1/agents/"+s.agent+"/keys", `{"name":"ci"}`)
	for _, who := range []string{s.key, key.Key} {
		for _, word := range []string{"hello", "fail"} {
			if a := s.do("POST", s.invokePath(), who, `{"message":"`+word+`"}`); a.status != 200 {
				t.Fatal(a.raw)
			}
		}
	}
	ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"wait"}`)

	list := func(query string) []callJSON {
		t.Helper()
		return ok[callsJSON](s, "GET", "/api/v1/calls?"+query, "").Calls
	}
	outcomes := func(query string) string {
		t.Helper()
		var words []string
		for _, c := range list(query) {
			words = append(words, c.Outcome)
		}
		return strings.Join(words, " ")
	}
	all := list("")
	if got := outcomes(""); got != "working failed ok failed ok" {
		t.Fatalf("the calls are %s", got)
	}
	if c := all[1]; c.CallerName != "key ci" || c.Surface != "rest" || c.TookMS <= 0 || c.Caller != "key:"+key.ID {
		t.Errorf("%+v", c)
	}
	for query, want := range map[string]string{
		"outcome=failed":                           "failed failed",
		"outcome=ok&outcome=working":               "working ok ok",
		"outcome=working":                          "working",
		"outcome=refused":                          "",
		"caller=" + url.QueryEscape(all[1].Caller): "failed ok",
		"surface=mcp":                              "",
		"tool=nothing":                             "",
		"agent_id=" + s.agent + "&outcome=ok":      "ok ok",
		"slower_than_ms=3600000":                   "",
		"until=" + all[3].BeganAt:                  "ok",
		"from=" + url.QueryEscape(all[1].BeganAt):  "working failed",
		"limit=2":                    "working failed",
		"limit=2&since=" + all[1].ID: "ok failed",
		"from=" + time.Now().Add(time.Hour).Format("2006-01-02T15:04:05Z"): "",
	} {
		if got := outcomes(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for query, word := range map[string]string{
		"outcome=good": "it is one of ok", "from=yesterday": "from must be a time", "slower_than_ms=x": "slower_than_ms", "since=x": "next_since",
	} {
		if a := s.do("GET", "/api/v1/calls?"+query, s.key, ""); a.status != 400 || !strings.Contains(a.raw, word) {
			t.Errorf("%s: %d %s", query, a.status, a.raw)
		}
	}

	if a := s.do("POST", s.invokePath(), key.Key, `{"message":"wait","timeout_ms":1}`); a.status == 200 {
		t.Fatal(a.raw)
	}
	for range 5 { // calls under way of somebody else, which are newer, are not in the way
		ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"wait"}`)
	}
	if got := outcomes("outcome=working&limit=1&caller=" + url.QueryEscape(all[1].Caller)); got != "working" {
		t.Errorf("under way for the key: %q", got)
	}

	failed := ok[callDetailJSON](s, "GET", "/api/v1/calls/"+all[1].ID, "")
	if failed.Request.Text != "fail" || failed.Reply == nil || failed.Reply.Text != "broken" || failed.Outcome != "failed" || failed.CallerName != "key ci" {
		t.Errorf("%+v", failed)
	}
	var events []string
	for _, m := range failed.Timeline {
		events = append(events, m.Event)
	}
	if got := strings.Join(events, " "); !strings.HasPrefix(got, "received stored dispatched") || !strings.HasSuffix(got, "reply_stored") {
		t.Errorf("what happened: %s", got)
	}
	if working := ok[callDetailJSON](s, "GET", "/api/v1/calls/"+all[0].ID, ""); working.Reply != nil || working.Outcome != "working" || len(working.Attempts) != 1 {
		t.Errorf("%+v", working)
	}

	if a := s.do("GET", "/api/v1/calls", s.other, ""); a.status != 200 || strings.Contains(a.raw, all[1].ID) {
		t.Errorf("a stranger sees %d %s", a.status, a.raw)
	}
	for _, path := range []string{"/api/v1/calls/" + all[1].ID, "/api/v1/calls?agent_id=" + s.agent, "/api/v1/calls/nothing"} {
		if a := s.do("GET", path, s.other, ""); a.status != 404 {
			t.Errorf("a stranger gets %s: %d %s", path, a.status, a.raw)
		}
	}
	if a := s.do("GET", "/api/v1/calls", key.Key, ""); a.status != 401 && a.status != 403 {
		t.Errorf("an agent key sees the calls of others: %d %s", a.status, a.raw)
	}
}
