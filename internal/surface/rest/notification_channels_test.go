package rest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/approvals"
)

// TestChannelIsToldOfApprovals: a webhook that somebody set up is told what waits, and
// how it ended; its secret is shown once and listed nowhere.
func TestChannelIsToldOfApprovals(t *testing.T) {
	s := start(t)
	type event struct {
		Type     string
		Approval struct{ ID, URL string }
	}
	told := make(chan event, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		told <- e
	}))
	t.Cleanup(hook.Close)
	next := func(want string) event {
		t.Helper()
		select {
		case e := <-told:
			if e.Type != want {
				t.Fatalf("told %+v, want %s", e, want)
			}
			return e
		case <-time.After(20 * time.Second):
			t.Fatalf("%s did not come", want)
			return event{}
		}
	}
	type channel struct{ ID, Kind, URL, Secret string }
	made := ok[channel](s, "POST", "/api/v1/notification-channels", `{"kind":"webhook","url":"`+hook.URL+`"}`)
	if made.Secret == "" || made.URL != hook.URL {
		t.Errorf("%+v", made)
	}
	s.audited("notification_channel.create", made.ID)
	if a := s.do("GET", "/api/v1/notification-channels", s.key, ""); !strings.Contains(a.raw, made.ID) || strings.Contains(a.raw, made.Secret) || !strings.Contains(a.raw, `"kinds":["slack","telegram","webhook"]`) {
		t.Errorf("listed: %s", a.raw)
	}
	if a := s.do("POST", "/api/v1/notification-channels", s.key, `{"kind":"webhook","url":"`+hook.URL+`"}`); a.status != 409 {
		t.Errorf("the same again: %d %s", a.status, a.raw)
	}
	path := "/api/v1/notification-channels/" + made.ID
	ok[struct{}](s, "POST", path+"/test", "")
	s.audited("notification_channel.test", made.ID)
	next("channel.test")

	id := s.question("turn-of-channel")
	if e := next("approval.requested"); e.Approval.ID != id || !strings.Contains(e.Approval.URL, "/approve?token=") {
		t.Errorf("%+v", e)
	}
	ok[struct{}](s, "POST", "/api/v1/approvals/"+id+"/approve", "")
	next("approval.decided")
	type delivery struct {
		ID       string `json:"delivery_id"`
		Event    string `json:"event"`
		Approval string `json:"approval_id"`
	}
	list := ok[[]delivery](s, "GET", path+"/deliveries", "")
	if len(list) != 3 || list[0].Event != "approval.decided" || list[0].Approval != id {
		t.Fatalf("%+v", list)
	}
	for end := time.Now().Add(20 * time.Second); ; <-time.After(2 * time.Millisecond) { // until what was sent last is written down
		a := s.do("POST", path+"/deliveries/"+list[0].ID+"/redeliver", s.key, "")
		if a.status == 202 {
			break
		}
		if a.status != 409 || time.Now().After(end) {
			t.Fatalf("%d %s", a.status, a.raw)
		}
	}
	next("approval.decided")
	s.audited("notification_channel.redeliver", made.ID)
	if a := s.do("DELETE", path, s.key, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	s.audited("notification_channel.delete", made.ID)
	s.question("turn-after")
	if a := s.do("GET", path+"/deliveries", s.key, ""); a.status != 404 {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

// TestPressDecides: what Slack posts as it documents it decides, by its signature alone;
// to anybody else there is no such channel.
func TestPressDecides(t *testing.T) {
	s := start(t)
	const signing = "8f742231b10e8888abcd99yyyzzz85a5"
	made := ok[struct {
		ID       string
		To       string
		PressURL string `json:"press_url"`
	}](s, "POST", "/api/v1/notification-channels", `{"kind":"slack","to":"U024BE7LH","token":"xoxb-1","secret":"`+signing+`"}`)
	if made.PressURL != s.url+"/api/v1/notification-channels/"+made.ID+"/presses" || made.To != "U024BE7LH" {
		t.Fatalf("%+v", made)
	}
	id := s.question("turn-pressed")
	press := func(at, secret string) (int, string) {
		t.Helper()
		payload := `{"type":"block_actions","user":{"id":"U024BE7LH"},"actions":[{"action_id":"approve","value":"` + id + `"}]}`
		body := url.Values{"payload": {payload}}.Encode()
		stamp := strconv.FormatInt(time.Now().Unix(), 10)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("v0:" + stamp + ":" + body))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/x-www-form-urlencoded", "X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": "v0=" + hex.EncodeToString(mac.Sum(nil)),
		} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, regexp.MustCompile(`"request_id":"[^"]*"`).ReplaceAllString(string(text), "")
	}
	forged, theirs := press(made.PressURL, "another secret of somebody")
	unknown, none := press(strings.Replace(made.PressURL, made.ID, "nch_none", 1), signing)
	if forged != http.StatusNotFound || forged != unknown || theirs != none {
		t.Errorf("forged: %d %s, of no channel: %d %s", forged, theirs, unknown, none)
	}
	if code, text := press(made.PressURL, signing); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	row, err := s.db.Approvals.Get(t.Context(), id)
	if err != nil || row.State != approvals.Approved || row.Via != "slack" {
		t.Errorf("%+v, %v", row, err)
	}
	s.audited("approval.approved", id)
}

// question makes an approval that waits for the owner.
func (s *stack) question(turn string) string {
	s.t.Helper()
	now := time.Now()
	a, _, err := s.db.Approvals.Ask(s.t.Context(), approvals.Approval{
		ID: "approval-" + turn, OwnerID: s.user, AgentID: s.agent, Caller: "user:" + s.user, Channel: "c", Turn: turn, Tool: "pay",
		Arguments: json.RawMessage(`{}`), Hash: []byte(turn), PolicyVersion: "default", CreatedAt: now, ExpiresAt: now.Add(5 * time.Minute),
	}, "r")
	if err != nil {
		s.t.Fatal(err)
	}
	return a.ID
}
