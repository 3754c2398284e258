package mcp

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// TestForeignAgentsLookAbsent: what is not there and what is not yours are the
// same answer, to the byte, and a deleted or closed agent is no exception.
func TestForeignAgentsLookAbsent(t *testing.T) {
	s := newStack(t)
	private, gone := s.agents["clerk"], s.agents["quiet"]
	s.must(s.db.Agents.Delete(t.Context(), gone))
	s.bus.Control(bus.Control{Kind: bus.AgentChanged, AgentID: gone})
	ask := func(key, agent, method string) string {
		r, err := http.NewRequest(http.MethodPost, s.server.URL+"/"+agent+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`))
		s.must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.keys[key])
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		return resp.Status + "\n" + resp.Header.Get("Www-Authenticate") + "\n" + strings.ReplaceAll(string(body), agent, "AGENT")
	}
	for _, method := range []string{"tools/list", "tools/call", "resources/list", "prompts/list", "initialize"} {
		absent := ask("stranger", "agent_"+beeos.NewID(), method)
		for what, got := range map[string]string{
			"private": ask("stranger", private, method), "deleted": ask("stranger", gone, method), "closed": ask("stranger", s.agents["closed"], method), "the owner's deleted": ask("user", gone, method),
		} {
			if got != absent {
				t.Errorf("%s, %s: %s\nabsent: %s", method, what, got, absent)
			}
		}
	}
}

// TestCallerHeadersDecideNothing: what a caller says about itself in headers
// decides nothing and goes nowhere.
func TestCallerHeadersDecideNothing(t *testing.T) {
	s := newStack(t)
	const marker = "smuggled-7f3a"
	call := func(key string, headers bool) (int, string) {
		r, err := http.NewRequest(http.MethodPost, s.server.URL+"/"+s.agents["clerk"]+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"what"}}`))
		s.must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.keys[key])
		for _, name := range []string{"X-Org-Id", "X-User-Id", "X-Tenant-Id", "X-Beeos-User", "X-Beeos-Caller", "X-A2a-Agent-Id", "X-Agent-Id", "X-Forwarded-User", "X-Forwarded-For", "Forwarded", "X-Real-Ip", "Cookie"} {
			if headers {
				r.Header.Set(name, marker)
				r.Header.Add(name, s.owner.ID)
			}
		}
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		return resp.StatusCode, string(body)
	}
	for _, key := range []string{"user", "clerk", "stranger", "talker"} {
		status, body := call(key, false)
		if withStatus, withBody := call(key, true); withStatus != status || withBody != body {
			t.Errorf("%s: %d %s, with headers %d %s", key, status, body, withStatus, withBody)
		}
	}
	if len(s.frames()) != 4 {
		t.Errorf("%d calls reached the agent", len(s.frames()))
	}
	for _, f := range s.frames() {
		if all, _ := json.Marshal(f); strings.Contains(string(all), marker) {
			t.Errorf("the agent got %s", all)
		}
	}
}

// tenant is one of many who use the same names for everything.
type tenant struct{ user, agent, key string }

// tenants makes n users with an agent each, which says whose it is and who
// asked.
func (s *stack) tenants(t *testing.T, n int) []tenant {
	t.Helper()
	list := make([]tenant, n)
	for i := range list {
		u := beeos.User{ID: beeos.NewID(), Email: "t" + strconv.Itoa(i) + "@example.com", Name: "t", CreatedAt: time.Now()}
		s.must(s.db.People.CreateUser(t.Context(), u))
		public, _, err := ed25519.GenerateKey(nil)
		s.must(err)
		inst := beeos.Instance{ID: "inst_" + beeos.NewID(), OwnerID: u.ID, Name: "i", PublicKey: public, CreatedAt: time.Now()}
		s.must(s.db.Instances.Create(t.Context(), inst))
		synced, err := s.db.Agents.Sync(t.Context(), inst, []beeos.Definition{{Name: "twin"}})
		s.must(err)
		list[i] = tenant{u.ID, synced.IDs()["twin"], "tenant" + strconv.Itoa(i)}
		s.key(t.Context(), list[i].key, beeos.Key{Kind: beeos.UserKey, OwnerID: u.ID})
		stop, err := s.bus.Serve(list[i].agent, func(d bus.Dispatch) bool {
			var f beeos.Frame
			s.must(json.Unmarshal(d.Frame, &f))
			s.working.Go(func() {
				a := &testAgent{s: s, f: f, d: d}
				a.say(list[i].user + " " + f.PublisherID + " " + f.Body)
			})
			return true
		})
		s.must(err)
		t.Cleanup(stop)
	}
	return list
}

// TestTenantsNeverCross: 200 callers of 50 tenants at once, with the same
// context ids, idempotency keys, request ids and agent names, at two replicas
// and both kinds of endpoint: everybody gets the answer of their own agent.
func TestTenantsNeverCross(t *testing.T) {
	s := newStack(t)
	tenants := s.tenants(t, 50)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	post := func(at, key, session, body string) (*http.Response, []byte, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(body))
		if err != nil {
			return nil, nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+key)
		if session != "" {
			r.Header.Set(wire.HeaderSession, session)
		}
		resp, err := client.Do(r)
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		return resp, answer, err
	}
	var working sync.WaitGroup
	for i := range 200 {
		tn := tenants[i%len(tenants)]
		key := s.keys[tn.key]
		working.Go(func() {
			home := s.server.URL + "/" + tn.agent + "/mcp"
			resp, _, err := post(home, key, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
			if err != nil {
				t.Error(err)
				return
			}
			session := resp.Header.Get(wire.HeaderSession)
			for n := range 8 {
				at := []string{s.server.URL, s.other.URL}[n%2]
				marker := fmt.Sprintf("%s-%d-%d", tn.user, i, n)
				url, tool, with, more := at+"/"+tn.agent+"/mcp", tn.agent, session, ""
				switch n % 4 {
				case 1:
					with, more = "", `,"context_id":"shared"`
				case 2:
					with, more = "", fmt.Sprintf(`,"idempotency_key":"k-%d-%d"`, i/len(tenants), n) // the same of every tenant
				case 3:
					url, tool, with = at+"/mcp", "twin", ""
				}
				_, answer, err := post(url, key, with, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"message":"`+marker+`"`+more+`}}}`)
				if want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + tn.user + ` user:` + tn.user + ` ` + marker + `"}]}}`; err != nil || string(answer) != want {
					t.Errorf("got %s (%v), want %s", answer, err, want)
					return
				}
			}
			other := tenants[(i+1)%len(tenants)]
			if resp, answer, err := post(s.other.URL+"/"+other.agent+"/mcp", key, session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil || resp.StatusCode != http.StatusNotFound {
				t.Errorf("somebody else's agent: %s (%v)", answer, err)
			}
		})
	}
	working.Wait()
}
