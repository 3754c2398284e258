package a2a_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/config"
)

// Each of these is open in the SDK's own server.

func TestSmuggledMethodIsRefused(t *testing.T) {
	s := start(t)
	for name, body := range map[string]string{
		"two cases": `{"jsonrpc":"2.0","id":1,"method":"GetTask","METHOD":"SendMessage","params":` + message("smuggled", "hi") + `}`,
		"one case":  `{"jsonrpc":"2.0","id":1,"METHOD":"SendMessage","params":` + message("smuggled", "hi") + `}`,
		"twice":     `{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"SendMessage","params":` + message("smuggled", "hi") + `}`,
		"spellings": `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"a","taskId":"b","task_id":"c"}}`,
	} {
		if got := s.do("POST", s.url, body).json(t); at(got, "error") == nil {
			t.Errorf("%s: accepted: %v", name, got)
		}
	}
	if n := at(s.rpc("ListTasks", `{}`), "result", "totalSize"); n != 0.0 {
		t.Errorf("%v tasks were made", n)
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	s := start(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message("origin", "hi") + `}`
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		code    any
	}{
		{"text/plain", []string{"Content-Type", "text/plain"}, 415, -32005.0},
		{"foreign origin", []string{"Origin", "https://evil.example"}, 403, nil},
		{"origin null", []string{"Origin", "null"}, 403, nil},
		{"both", []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, 403, nil},
		{"compressed", []string{"Content-Encoding", "gzip"}, 415, -32005.0},
	} {
		got := s.do("POST", s.url, body, c.headers...)
		if got.StatusCode != c.status || c.code != nil && at(got.json(t), "error", "code") != c.code {
			t.Errorf("%s: %d %s", c.name, got.StatusCode, got.body)
		}
	}
}

// endless is a body that never ends.
type endless struct{ sent atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if e.sent.Add(int64(len(p))) > 200<<20 {
		return 0, io.EOF
	}
	return len(p), nil
}

func TestEndlessBodyIsCutOff(t *testing.T) {
	s := start(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, url := range []string{s.url, s.url + "/message:send", s.url + "/v1/invoke"} {
		body := &endless{}
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`), body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+s.key)
		req.Header.Set("A2A-Version", "1.0")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue // the connection was closed while it was being sent, which is as good
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", url, resp.StatusCode)
		}
		if n := body.sent.Load(); n > 50<<20 {
			t.Errorf("%s: %d bytes were taken", url, n)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 100<<20 {
		t.Errorf("%d MB were allocated", grown>>20)
	}
}

func TestTrailingJSONIsRefused(t *testing.T) {
	s := start(t)
	whole := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message("trailing", "hi") + `}`
	for _, body := range []string{whole + whole, whole + "x", whole + "\x00", "[" + whole + "]", "", "null", `"x"`} {
		if got := s.do("POST", s.url, body).json(t); at(got, "error") == nil {
			t.Errorf("%.40q…: accepted", body[max(0, len(body)-40):])
		}
	}
	if n := at(s.rpc("ListTasks", `{}`), "result", "totalSize"); n != 0.0 {
		t.Errorf("%v tasks were made", n)
	}
}

// TestErrorChainsStayInside: an error says what to do, not what broke inside.
func TestErrorChainsStayInside(t *testing.T) {
	s := start(t)
	s.rpc("SendMessage", message("first", "hi"))
	task := at(s.rpc("ListTasks", `{}`), "result", "tasks", 0, "id").(string)
	for _, got := range []map[string]any{
		s.rpc("CancelTask", `{"id":"`+task+`"}`),
		s.rpc("CancelTask", `{"id":"x' OR 1=1"}`),
		s.rpc("ListTasks", `{"pageToken":"AAAA"}`),
		s.rpc("SendMessage", `{"message":{"role":7}}`),
		s.rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","url":"http://no-such-host.invalid/"}`),
	} {
		text, _ := at(got, "error", "message").(string)
		for _, inside := range []string{"sql", "lookup", "dial", "panic", ".go:", "unmarshal", "setup failed", "%!"} {
			if strings.Contains(strings.ToLower(text), inside) {
				t.Errorf("%q tells of our insides", text)
			}
		}
		if text == "" {
			t.Errorf("no error: %v", got)
		}
	}
}

func TestPushToForbiddenAddressIsRefused(t *testing.T) {
	for name, dev := range map[string]bool{"in development": true, "in production": false} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(c *config.Config) { c.AllowPrivate = dev })
			s.rpc("SendMessage", message("first", "hi"))
			task := at(s.rpc("ListTasks", `{}`), "result", "tasks", 0, "id").(string)
			urls := []string{"http://169.254.169.254/latest", "http://[fe80::1]/", "http://[fd00:ec2::254]/", "ftp://example.com/", "http://u:p@example.com/"}
			if !dev {
				urls = append(urls, "http://127.0.0.1/", "http://10.0.0.1/", "http://localhost:8080/", "http://2130706433/", "http://[::ffff:10.0.0.1]/")
			}
			for _, url := range urls {
				got := s.rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","url":"`+url+`"}`)
				if at(got, "error", "code") != -32602.0 {
					t.Errorf("%s: %v", url, got)
				}
				got = s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"`+url+`","parts":[{"text":"hi"}]},"configuration":{"taskPushNotificationConfig":{"url":"`+url+`"}}}`)
				if at(got, "error", "code") != -32602.0 {
					t.Errorf("with a message, %s: %v", url, got)
				}
			}
		})
	}
}

func TestPushFollowsNoRedirect(t *testing.T) {
	s := start(t)
	var inside atomic.Int64
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	defer secret.Close()
	called := make(chan struct{}, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called <- struct{}{}
		http.Redirect(w, r, secret.URL, http.StatusTemporaryRedirect)
	}))
	defer receiver.Close()
	s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"r","parts":[{"text":"hi"}]},"configuration":{"taskPushNotificationConfig":{"url":"`+receiver.URL+`"}}}`)
	select {
	case <-called:
	case <-time.After(20 * time.Second):
		t.Fatal("the receiver was not called")
	}
	s.Stop() //nolint:errcheck // what is under way has ended by then
	if n := inside.Load(); n > 0 {
		t.Errorf("redirected %d times", n)
	}
}

func TestEmptyListIsAList(t *testing.T) {
	s := start(t)
	for _, url := range []string{s.url + "/tasks", s.url + "/tasks?contextId=none&pageSize=5"} {
		if got := s.do("GET", url, ""); !strings.Contains(string(got.body), `"tasks":[]`) || !strings.Contains(string(got.body), `"nextPageToken":""`) {
			t.Errorf("%s: %s", url, got.body)
		}
	}
	if got := s.rpc("ListTasks", `{}`); at(got, "result", "tasks") == nil {
		t.Errorf("%v", got)
	}
	s.rpc("SendMessage", message("first", "hi"))
	task := at(s.rpc("ListTasks", `{}`), "result", "tasks", 0, "id").(string)
	if got := s.do("GET", s.url+"/tasks/"+task+"/pushNotificationConfigs", ""); !strings.Contains(string(got.body), `"configs":[]`) {
		t.Errorf("%s", got.body)
	}
}
