package a2a_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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

// TestCardIsSigned checks the signature as a client would: with the published
// key, over the card's canonical form. A card of plain ASCII in sorted Go maps
// is that form already.
func TestCardIsSigned(t *testing.T) {
	s := start(t)
	card := s.do("GET", s.url+"/.well-known/agent-card.json", "").json(t)
	keys := s.do("GET", s.A2A+"/.well-known/jwks.json", "", "Authorization", "").json(t)
	public, err := base64.RawURLEncoding.DecodeString(at(keys, "keys", 0, "x").(string))
	if err != nil {
		t.Fatal(err)
	}
	protected := at(card, "signatures", 0, "protected").(string)
	signature, err := base64.RawURLEncoding.DecodeString(at(card, "signatures", 0, "signature").(string))
	if err != nil {
		t.Fatal(err)
	}
	delete(card, "signatures")
	payload, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	signed := protected + "." + base64.RawURLEncoding.EncodeToString(payload)
	if !ed25519.Verify(public, []byte(signed), signature) {
		t.Errorf("the signature does not fit %s", payload)
	}
	card["name"] = "somebody else"
	payload, _ = json.Marshal(card) //nolint:errcheck // it did a moment ago
	if ed25519.Verify(public, []byte(protected+"."+base64.RawURLEncoding.EncodeToString(payload)), signature) {
		t.Error("the signature fits another card as well")
	}
	header, _ := base64.RawURLEncoding.DecodeString(protected) //nolint:errcheck // shows in what follows
	if !strings.Contains(string(header), `"kid":"`+at(keys, "keys", 0, "kid").(string)+`"`) || !strings.Contains(string(header), "EdDSA") {
		t.Errorf("%s", header)
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
