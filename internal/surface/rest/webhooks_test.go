package rest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

type webhookJSON struct {
	ID        string `json:"webhook_id"`
	TaskID    string `json:"task_id"`
	URL       string
	HasSecret *bool     `json:"has_secret"`
	CreatedAt time.Time `json:"created_at"`
}

type deliveryJSON struct {
	ID          string `json:"delivery_id"`
	WebhookID   string `json:"webhook_id"`
	TaskID      string `json:"task_id"`
	Renderer    string
	Status      string
	Attempt     int       `json:"attempt_num"`
	Response    int       `json:"last_response_status"`
	Error       string    `json:"last_error"`
	Next        time.Time `json:"next_attempt_at"`
	CompletedAt time.Time `json:"completed_at"`
	Attempts    []struct {
		Response int `json:"response_status"`
	}
}

// told is a receiver that keeps what it was sent.
type told struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newTold(t *testing.T) *told {
	r := &told{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, string(body))
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *told) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.bodies...)
}

// newTask makes a task and returns its path.
func (s *stack) newTask() (id, path string) {
	s.t.Helper()
	task := ok[struct {
		ID string `json:"task_id"`
	}](s, "POST", "/api/v1/agents/"+s.agent+"/tasks", `{"message":"work"}`)
	return task.ID, "/api/v1/agents/" + s.agent + "/tasks/" + task.ID
}

// settled waits for so many attempts at the newest delivery.
func (s *stack) settled(path string, attempts int) deliveryJSON {
	s.t.Helper()
	type page struct{ Deliveries []deliveryJSON }
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		list := ok[page](s, "GET", path+"/deliveries?limit=1", "")
		if len(list.Deliveries) == 1 && list.Deliveries[0].Attempt == attempts && list.Deliveries[0].Status != "pending" {
			return list.Deliveries[0]
		}
	}
	s.t.Fatalf("%s: never %d attempts", path, attempts)
	return deliveryJSON{}
}

func TestWebhookIsDelivered(t *testing.T) {
	s, rec := start(t), newTold(t)
	s.echo()
	id, path := s.newTask()
	hook := ok[webhookJSON](s, "POST", path+"/webhooks", `{"url":"`+rec.URL+`","token":"private-token-here","secret":"private-secret-here"}`)
	if hook.TaskID != id || hook.URL != rec.URL || hook.HasSecret == nil || !*hook.HasSecret || hook.CreatedAt.IsZero() {
		t.Errorf("registered %+v", hook)
	}
	d := s.settled(path+"/webhooks/"+hook.ID, 1)
	if d.Status != "succeeded" || d.Response != 200 || d.WebhookID != hook.ID || d.TaskID != id || d.Renderer != "openapi" || d.Next.IsZero() ||
		d.CompletedAt.IsZero() || len(d.Attempts) != 1 || d.Attempts[0].Response != 200 {
		t.Errorf("delivery %+v", d)
	}
	bodies := rec.all()
	if last := bodies[len(bodies)-1]; !strings.Contains(last, `"status":"completed","final":true`) {
		t.Errorf("told %s", last)
	}
	a := s.do("POST", path+"/webhooks/"+hook.ID+"/deliveries/"+d.ID+"/redeliver", s.key, "")
	if a.status != 202 || !strings.Contains(string(a.data), `"status":"pending"`) {
		t.Fatalf("redeliver: %d %s", a.status, a.raw)
	}
	s.settled(path+"/webhooks/"+hook.ID, 2)
	if again := rec.all(); again[len(again)-1] != bodies[len(bodies)-1] {
		t.Errorf("told %s the second time", again[len(again)-1])
	}
	list := s.do("GET", path+"/webhooks", s.key, "")
	if !strings.Contains(list.raw, hook.ID) {
		t.Errorf("list: %s", list.raw)
	}
	deliveries := s.do("GET", path+"/webhooks/"+hook.ID+"/deliveries", s.key, "")
	audit := s.do("GET", "/api/v1/audit", s.key, "")
	if !strings.Contains(audit.raw, "webhook.create") {
		t.Errorf("audit: %s", audit.raw)
	}
	for _, answer := range []string{list.raw, deliveries.raw, audit.raw} { // no secret is in any of them
		if strings.Contains(answer, "private-") {
			t.Errorf("a secret is shown: %s", answer)
		}
	}
	if a := s.do("DELETE", path+"/webhooks/"+hook.ID, s.key, ""); a.status != 204 {
		t.Errorf("delete: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", path+"/webhooks/"+hook.ID, s.key, ""); a.code != "not_found" {
		t.Errorf("delete again: %d %s", a.status, a.raw)
	}
	if list := s.do("GET", path+"/webhooks", s.key, ""); string(list.data) != `{"webhooks":[]}` {
		t.Errorf("afterwards: %s", list.raw)
	}
}

func TestWebhooksRefuseBadRequests(t *testing.T) {
	s := start(t)
	s.play(func(beeos.Frame) *beeos.Message { return nil })
	_, path := s.newTask()
	_, second := s.newTask()
	hook := ok[webhookJSON](s, "POST", path+"/webhooks", `{"url":"http://127.0.0.1:9/"}`)
	if *hook.HasSecret {
		t.Error("it has a secret that nobody gave")
	}
	one := "/webhooks/" + hook.ID
	for _, c := range []struct{ method, path, key, body, code string }{
		{"POST", path + "/webhooks", s.key, `{}`, "missing_param"},
		{"POST", path + "/webhooks", s.key, `{"url":7}`, "invalid_body"},
		{"POST", path + "/webhooks", s.key, `{"url":"http://169.254.169.254/"}`, "invalid_param"},
		{"POST", path + "/webhooks", s.key, `{"url":"ftp://127.0.0.1/"}`, "invalid_param"},
		{"POST", path + "/webhooks", s.key, `{"url":"http://127.0.0.1/","secret":"short"}`, "invalid_param"},
		{"POST", path + "/webhooks", s.other, `{"url":"http://127.0.0.1/"}`, "agent_not_found"},
		{"GET", path + "/webhooks", s.other, "", "agent_not_found"},
		{"DELETE", path + one, s.other, "", "agent_not_found"},
		{"GET", path + one + "/deliveries", s.other, "", "agent_not_found"},
		{"POST", path + one + "/deliveries/x/redeliver", s.other, "", "agent_not_found"},
		{"DELETE", second + one, s.key, "", "not_found"}, // of another task
		{"GET", second + one + "/deliveries", s.key, "", "not_found"},
		{"GET", path + "/webhooks/wh_none/deliveries", s.key, "", "not_found"},
		{"GET", path + one + "/deliveries?limit=0", s.key, "", "invalid_param"},
		{"POST", path + one + "/deliveries/whd_none/redeliver", s.key, "", "not_found"},
	} {
		if a := s.do(c.method, c.path, c.key, c.body); a.code != c.code {
			t.Errorf("%s %s %s: %d %s, want %s", c.method, c.path, c.body, a.status, a.raw, c.code)
		}
	}
}
