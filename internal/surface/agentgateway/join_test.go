package agentgateway

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/agents"
)

func TestJoin(t *testing.T) {
	s := newStack(t)
	public, _, err := ed25519.GenerateKey(nil)
	s.must(err)
	key := base64.StdEncoding.EncodeToString(public)
	token, err := s.db.Instances.CreateJoinToken(s.ctx, s.owner.ID, time.Hour)
	s.must(err)
	agentKey, hash, prefix := auth.NewKey(beeos.AgentKey)
	id := s.join().sync(beeos.Definition{Name: "echo"})["echo"]
	s.must(s.db.Keys.Create(s.ctx, beeos.Key{ID: "key_agent", Kind: beeos.AgentKey, OwnerID: s.owner.ID, AgentID: id, Name: "a", Prefix: prefix}, hash))

	for _, c := range []struct {
		name, body, authorization string
		want                      int
		code                      beeos.Code
	}{
		{"no credential", `{"public_key":"` + key + `"}`, "", 401, beeos.MissingToken},
		{"wrong key", `{"public_key":"` + key + `"}`, "Bearer " + beeos.NewSecret("oag_"), 401, beeos.InvalidToken},
		{"an agent's key", `{"public_key":"` + key + `"}`, "Bearer " + agentKey, 403, beeos.Forbidden},
		{"a kind that nobody knows", `{"public_key":"` + key + `"}`, "Bearer new_1", 403, beeos.Forbidden},
		{"two credentials", `{"public_key":"` + key + `","token":"` + token + `"}`, "Bearer " + s.key, 401, beeos.Unauthorized},
		{"no public key", `{"name":"x","token":"` + token + `"}`, "", 400, beeos.InvalidParam},
		{"short public key", `{"public_key":"AAAA","token":"` + token + `"}`, "", 400, beeos.InvalidParam},
		{"not base64", `{"public_key":"?","token":"` + token + `"}`, "", 400, beeos.InvalidBody},
		{"weak public key", `{"public_key":"` + base64.StdEncoding.EncodeToString(make([]byte, 32)) + `","token":"` + token + `"}`, "", 400, beeos.InvalidParam},
		{"public key off the curve", `{"public_key":"` + base64.StdEncoding.EncodeToString(append([]byte{2}, make([]byte, 31)...)) + `","token":"` + token + `"}`, "", 400, beeos.InvalidParam},
		{"name that cannot be shown", `{"public_key":"` + key + `","name":"a\u0007b","token":"` + token + `"}`, "", 400, beeos.InvalidParam},
		{"two names for one member", `{"public_key":"` + key + `","Public_Key":"AAAA","token":"` + token + `"}`, "", 400, beeos.InvalidJSON},
		{"token", `{"public_key":"` + key + `","token":"` + token + `"}`, "", 201, ""},
		{"token again", `{"public_key":"` + key + `","token":"` + token + `"}`, "", 401, beeos.InvalidToken},
		{"user key", `{"public_key":"` + key + `","name":"laptop"}`, "Bearer " + s.key, 201, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got struct {
				joinAnswer
				Code beeos.Code `json:"code"`
			}
			status := s.exchange("POST", "/api/v1/agents/join", []byte(c.body), c.authorization, &got)
			if status != c.want || got.Code != c.code {
				t.Errorf("got %d %q, want %d %q", status, got.Code, c.want, c.code)
			}
			if status == 201 && got.InstanceID == "" {
				t.Error("no instance id")
			}
		})
	}
}

func TestSync(t *testing.T) {
	s := newStack(t)
	p := s.join()
	first := p.sync(beeos.Definition{Name: "a"}, beeos.Definition{Name: "b", DeliveryMode: beeos.DeliverQueue})

	sync := func(body string) (status int, got struct {
		agents.SyncResult
		Code beeos.Code `json:"code"`
	},
	) {
		status = p.exchange("POST", "/api/v1/agents/sync", []byte(body), p.sign("POST", "/api/v1/agents/sync", []byte(body)), &got)
		return status, got
	}
	status, got := sync(`{"agents":[{"name":"a"},{"name":"b","delivery_mode":"push"}]}`)
	if status != http.StatusConflict {
		t.Errorf("another delivery mode: %d %+v", status, got)
	}
	for body, code := range map[string]beeos.Code{
		`{}`:                       beeos.MissingParam,
		`{"agents":{}}`:            beeos.InvalidBody,
		`{"agents":[{"name":""}]}`: beeos.InvalidBody,
		`{"agents":`:               beeos.InvalidJSON,
	} {
		if status, got := sync(body); status != 400 || got.Code != code {
			t.Errorf("%s: %d %q, want 400 %q", body, status, got.Code, code)
		}
	}
	status, got = sync(`{"agents":[{"name":"a","description":"new"},{"name":"c"}]}`)
	names := func(list []agents.SyncedAgent) (all []string) {
		for _, a := range list {
			all = append(all, a.Name)
		}
		return all
	}
	want := [][]string{{"c"}, {"a"}, {"b"}, nil}
	if diff := cmp.Diff(want, [][]string{names(got.Created), names(got.Updated), names(got.Deactivated), names(got.Unchanged)}); diff != "" || status != 200 {
		t.Errorf("%d %s", status, diff)
	}
	if got.Updated[0].ID != first["a"] {
		t.Error("a has another id now")
	}
	rows, err := s.db.Audit.List(s.ctx, s.owner.ID, 100)
	s.must(err)
	actions := map[string]int{}
	for _, r := range rows {
		actions[r.Action]++
	}
	if diff := cmp.Diff(map[string]int{"instance.join": 1, "agent.create": 3, "agent.update": 1, "agent.deactivate": 1}, actions); diff != "" {
		t.Error(diff)
	}
}

// TestSignatures: every route but join wants a fresh signature of a known
// instance over exactly this request.
func TestSignatures(t *testing.T) {
	s := newStack(t)
	p := s.join()
	p.sync(beeos.Definition{Name: "echo"})
	stranger := s.join()
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/v1/agents/sync", `{"agents":[{"name":"echo"}]}`},
		{"GET", "/api/v1/agents/connect", ""},
		{"GET", "/api/v1/agents/poll?wait=0s", ""},
		{"POST", "/api/v1/agents/frames", ""},
		{"GET", "/api/v1/agents/channels/ch-x/messages", ""},
		{"POST", "/api/v1/agents/files", `{"message_id":"x"}`},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			body := []byte(c.body)
			used := p.sign(c.method, c.path, body)
			if status := s.status(c.method, c.path, body, used); status == http.StatusUnauthorized {
				t.Errorf("the right signature is refused")
			}
			for name, authorization := range map[string]string{
				"nothing":        "",
				"a key":          "Bearer " + s.key,
				"used before":    used,
				"another method": p.sign("PUT", c.path, body),
				"another path":   p.sign(c.method, c.path+"x", body),
				"another body":   p.sign(c.method, c.path, append(body, ' ')),
				"another's key":  beeos.Sign(stranger.key, p.inst, c.method, c.path, body),
				"nobody's":       beeos.Sign(p.key, "inst_nobody", c.method, c.path, body),
			} {
				if status := s.exchange(c.method, c.path, body, authorization, nil); status != http.StatusUnauthorized {
					t.Errorf("%s: %d, want 401", name, status)
				}
			}
		})
	}
}

func TestHistory(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	agent := p.websocket("")
	expect(t, agent, beeos.FrameHello)
	wait := s.ask(id, "hi")
	m := expect(t, agent, beeos.FrameMessage)
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "ho"})
	wait()

	read := func(p *process, channel, query string) (int, messageList) {
		path := "/api/v1/agents/channels/" + channel + "/messages" + query
		var got messageList
		return p.exchange("GET", path, nil, p.sign("GET", path, nil), &got), got
	}
	status, got := read(p, m.ChannelID, "?limit=1")
	if status != 200 || len(got.Messages) != 1 || got.Messages[0].Body != "hi" || !got.HasMore {
		t.Errorf("first page: %d %+v", status, got)
	}
	status, got = read(p, m.ChannelID, fmt.Sprintf("?since=%d", m.Offset))
	if status != 200 || len(got.Messages) != 1 || got.Messages[0].Body != "ho" || got.HasMore {
		t.Errorf("second page: %d %+v", status, got)
	}
	stranger := s.join()
	stranger.sync(beeos.Definition{Name: "other"})
	if status, _ := read(stranger, m.ChannelID, ""); status != 404 {
		t.Errorf("a stranger: %d", status)
	}
	if status, _ := read(p, "ch-nowhere", ""); status != 404 {
		t.Errorf("no channel: %d", status)
	}
	if status, _ := read(p, m.ChannelID, "?since=x"); status != 400 {
		t.Errorf("since=x: %d", status)
	}
}
