package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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
	if a := s.do("GET", "/api/v1/notification-channels", s.key, ""); !strings.Contains(a.raw, made.ID) || strings.Contains(a.raw, made.Secret) || !strings.Contains(a.raw, `"kinds":["webhook"]`) {
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
