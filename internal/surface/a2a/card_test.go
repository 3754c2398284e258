package a2a_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestCardShowsWhatItsReaderMaySee(t *testing.T) {
	s := start(t)
	where := s.url + "/.well-known/agent-card.json"
	full := s.do("GET", where, "")
	if got := full.json(t); at(got, "name") != "worker" || at(got, "supportedInterfaces", 0, "url") != s.url || at(got, "skills", 0, "id") == nil {
		t.Errorf("%v", got)
	}
	if full.Header.Get("Cache-Control") == "" {
		t.Error("no Cache-Control")
	}
	if again := s.do("GET", where, "", "If-None-Match", full.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || len(again.body) > 0 {
		t.Errorf("the same again: %d", again.StatusCode)
	}
	if other := s.do("GET", s.A2A+"/.well-known/agent-card.json?id="+s.agent, ""); string(other.body) != string(full.body) {
		t.Errorf("by ?id=: %s", other.body)
	}
	if slash := s.do("GET", s.url+"//.well-known/agent-card.json", ""); string(slash.body) != string(full.body) {
		t.Errorf("with two slashes: %s", slash.body)
	}
	if old := s.do("GET", s.url+"/.well-known/agent.json", "", "A2A-Version", "").json(t); at(old, "url") != s.url || at(old, "protocolVersion") != "0.3.0" {
		t.Errorf("of 0.3: %v", old)
	}
	if stranger := s.do("GET", where, "", "Authorization", ""); strings.Contains(string(stranger.body), "worker") || at(stranger.json(t), "securitySchemes") == nil {
		t.Errorf("to a stranger: %s", stranger.body)
	}
	if nobody := s.do("GET", s.A2A+"/agent_nobody/.well-known/agent-card.json", ""); nobody.StatusCode != 404 {
		t.Errorf("of nobody: %d", nobody.StatusCode)
	}
	if foreign := s.do("GET", where, "", "Authorization", "Bearer "+s.AgentKey); foreign.StatusCode != 404 {
		t.Errorf("to another agent's key: %d", foreign.StatusCode)
	}
	if ext := s.rpc("GetExtendedAgentCard", `{}`); at(ext, "result", "name") != "worker" {
		t.Errorf("extended: %v", ext)
	}
}

// TestCardIsSigned checks the signatures as clients would, with the published
// key over the card's canonical form: of the members that 1.0 knows, as the SDKs
// do, and of the card as it came. A card of plain ASCII in sorted Go maps is
// that form already. What is empty does not count, so nothing may be.
func TestCardIsSigned(t *testing.T) {
	s := start(t)
	keys := s.do("GET", s.A2A+"/.well-known/jwks.json", "", "Authorization", "").json(t)
	public, err := base64.RawURLEncoding.DecodeString(at(keys, "keys", 0, "x").(string))
	if err != nil {
		t.Fatal(err)
	}
	for name, credential := range map[string]string{"the owner": "Bearer " + s.key, "a stranger": ""} {
		served := s.do("GET", s.url+"/.well-known/agent-card.json", "", "Authorization", credential, "A2A-Version", "")
		card := served.json(t)
		if where := findEmpty(card, "card"); where != "" {
			t.Errorf("%s: %s is empty", name, where)
		}
		if !isSigned(t, public, at(card, "signatures", 1), card) {
			t.Errorf("%s: the signature does not fit the card as it came", name)
		}
		var known a2a.AgentCard
		if err := json.Unmarshal(served.body, &known); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(known)
		if err != nil {
			t.Fatal(err)
		}
		modern := response{body: raw}.json(t)
		if !isSigned(t, public, at(card, "signatures", 0), modern) {
			t.Errorf("%s: the signature does not fit %s", name, raw)
		}
		modern["name"] = "somebody else"
		if isSigned(t, public, at(card, "signatures", 0), modern) {
			t.Errorf("%s: the signature fits another card as well", name)
		}
		header, _ := base64.RawURLEncoding.DecodeString(at(card, "signatures", 0, "protected").(string)) //nolint:errcheck // shows in what follows
		if !strings.Contains(string(header), `"kid":"`+at(keys, "keys", 0, "kid").(string)+`"`) || !strings.Contains(string(header), "EdDSA") {
			t.Errorf("%s", header)
		}
	}
}

// isSigned verifies one signature of a card.
func isSigned(t *testing.T, public ed25519.PublicKey, signature any, card map[string]any) bool {
	t.Helper()
	proof, err := base64.RawURLEncoding.DecodeString(at(signature, "signature").(string))
	if err != nil {
		t.Fatal(err)
	}
	signed := maps.Clone(card)
	delete(signed, "signatures")
	payload, err := json.Marshal(signed)
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.Verify(public, []byte(at(signature, "protected").(string)+"."+base64.RawURLEncoding.EncodeToString(payload)), proof)
}

// findEmpty names a member that is empty. The scopes of 0.3's requirements are:
// there are none.
func findEmpty(v any, name string) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return name
		}
	case []any:
		for i, one := range v {
			if found := findEmpty(one, fmt.Sprintf("%s[%d]", name, i)); found != "" {
				return found
			}
		}
		if len(v) == 0 {
			return name
		}
	case map[string]any:
		for member, one := range v {
			if found := findEmpty(one, name+"."+member); found != "" && member != "security" {
				return found
			}
		}
	}
	return ""
}

// TestOneCardForBothGenerations: whoever fetches a card without saying which
// version it speaks finds what it needs, in its own words.
func TestOneCardForBothGenerations(t *testing.T) {
	s := start(t)
	for name, credential := range map[string]string{"the owner": "Bearer " + s.key, "a stranger": ""} {
		card := s.do("GET", s.url+"/.well-known/agent-card.json", "", "Authorization", credential, "A2A-Version", "").json(t)
		for _, c := range []struct {
			want any
			path []any
		}{
			{s.url, []any{"supportedInterfaces", 0, "url"}},
			{"1.0", []any{"supportedInterfaces", 0, "protocolVersion"}},
			{"Bearer", []any{"securitySchemes", "bearer", "httpAuthSecurityScheme", "scheme"}},
			{true, []any{"capabilities", "extendedAgentCard"}},
			// 0.3
			{"0.3.0", []any{"protocolVersion"}},
			{s.url, []any{"url"}},
			{"JSONRPC", []any{"preferredTransport"}},
			{"HTTP+JSON", []any{"additionalInterfaces", 1, "transport"}},
			{"http", []any{"securitySchemes", "bearer", "type"}},
			{"Bearer", []any{"securitySchemes", "bearer", "scheme"}},
			{"header", []any{"securitySchemes", "apiKey", "in"}},
			{true, []any{"supportsAuthenticatedExtendedCard"}},
		} {
			if got := at(card, c.path...); got != c.want {
				t.Errorf("to %s: %v is %v, want %v", name, c.path, got, c.want)
			}
		}
		modern := s.do("GET", s.url+"/.well-known/agent-card.json", "", "Authorization", credential, "A2A-Version", "1.0").json(t)
		if modern["protocolVersion"] != nil || at(modern, "securitySchemes", "bearer", "type") != nil || at(modern, "signatures", 0) == nil {
			t.Errorf("to %s, who speaks 1.0: %v", name, modern)
		}
		if at(card, "security", 0, "bearer") == nil || at(card, "skills", 0, "tags", 0) == nil {
			t.Errorf("to %s: %v", name, card)
		}
	}
}

// TestPushIsSignedAndCarriesTheTask: a receiver is told by a signed request, with the whole task at the
// end; its secret is never shown.
func TestPushIsSignedAndCarriesTheTask(t *testing.T) {
	s := start(t)
	const secret = "a secret of the receiver"
	type delivery struct {
		header http.Header
		body   []byte
	}
	got := make(chan delivery, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) //nolint:errcheck // shows in what follows
		got <- delivery{r.Header, body}
	}))
	defer receiver.Close()
	task := at(s.rpc("SendMessage", message("pushed", "pause")), "result", "task", "id").(string)
	made := s.rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","id":"mine","url":"`+receiver.URL+`","token":"note-1","authentication":{"scheme":"HMAC-SHA256","credentials":"`+secret+`"}}`)
	if at(made, "result", "id") != "mine" || strings.Contains(strings.Join([]string{toText(made), toText(s.rpc("ListTaskPushNotificationConfigs", `{"taskId":"`+task+`"}`))}, ""), secret) {
		t.Errorf("%v", made)
	}
	s.rpc("SendMessage", message("pushed2", "blue", `,"taskId":"`+task+`"`))
	for {
		select {
		case d := <-got:
			if d.header.Get("Content-Type") != "application/a2a+json" || d.header.Get("X-A2A-Notification-Token") != "note-1" || d.header.Get("Authorization") != "" {
				t.Errorf("headers: %v", d.header)
			}
			stamp, mac, _ := strings.Cut(d.header.Get("X-BeeOS-Signature"), ",v1=")
			h := hmac.New(sha256.New, []byte(secret))
			h.Write([]byte(strings.TrimPrefix(stamp, "t=") + "." + string(d.body))) //nolint:errcheck // it never fails
			if hex.EncodeToString(h.Sum(nil)) != mac {
				t.Errorf("the signature %q does not fit", d.header.Get("X-BeeOS-Signature"))
			}
			var v map[string]any
			if err := json.Unmarshal(d.body, &v); err != nil {
				t.Fatal(err)
			}
			if at(v, "task", "status", "state") == "TASK_STATE_COMPLETED" {
				if at(v, "task", "artifacts", 0, "parts", 0, "text") != "You chose blue" || at(v, "task", "id") != task {
					t.Errorf("%s", d.body)
				}
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatal("nobody told the receiver of the end")
		}
	}
}

func toText(v any) string {
	b, _ := json.Marshal(v) //nolint:errcheck // it came as JSON
	return string(b)
}
