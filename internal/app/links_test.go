package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestDecideFromAWebhook: a task waits for its owner, whose webhook gets a
// link; the page behind it decides, once.
func TestDecideFromAWebhook(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	cl := client.New(a.REST, a.UserKey)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	id := saver(t, a)

	links := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var told struct {
			Approval struct{ ID, URL string }
		}
		if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
			t.Error(err)
		}
		if told.Approval.ID != "" {
			links <- told.Approval.URL
		}
	}))
	t.Cleanup(hook.Close)
	task, err := cl.CreateTask(ctx, id, client.TaskRequest{Message: "save"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := cl.AddWebhook(ctx, id, task.ID, client.WebhookRequest{URL: hook.URL})
	if err != nil {
		t.Fatal(err)
	}
	var link string
	select {
	case link = <-links:
	case <-ctx.Done():
		t.Fatal("no webhook came")
	}
	address, err := url.Parse(link)
	if err != nil || !strings.HasPrefix(link, a.Web+"/approve?token=") {
		t.Fatalf("the link is %q, %v", link, err)
	}
	token := address.Query().Get("token")

	if status, page := visit(t, http.MethodGet, link, nil); status != 200 || !strings.Contains(page, "a.csv") {
		t.Fatalf("%d %s", status, page)
	}
	decide := func(how string) (int, string) {
		return visit(t, http.MethodPost, a.Web+"/approve", url.Values{"token": {token}, "decision": {how}})
	}
	if status, page := decide("approve"); status != 200 || !strings.Contains(page, "<h1>Approved</h1>") {
		t.Fatalf("%d %s", status, page)
	}
	if status, page := decide("reject"); status != 409 || !strings.Contains(page, "Decided by whoever had the link") {
		t.Errorf("a second time: %d %s", status, page)
	}
	if text, err := watched(cl.WatchTask(ctx, id, task.ID)); err != nil || text != "saved" {
		t.Errorf("%q, %v", text, err)
	}

	// The link is nowhere but in what was sent.
	secret := token[strings.LastIndexByte(token, '.')+1:]
	for _, path := range []string{
		"/api/v1/agents/" + id + "/tasks/" + task.ID + "/webhooks/" + made.ID + "/deliveries", "/api/v1/agents/" + id + "/tasks/" + task.ID + "/messages",
		"/api/v1/agents/" + id + "/tasks/" + task.ID, "/api/v1/approvals?status=all", "/api/v1/audit",
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.REST+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.UserKey)
		status, body := answer(t, req)
		if status != 200 || strings.Contains(body, secret) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}

	// Redelivered after the decision, it comes without one.
	for _, d := range delivered(ctx, t, cl, id, task.ID, made.ID) {
		if _, err := cl.Redeliver(ctx, id, task.ID, made.ID, d.ID); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case link := <-links:
		if link != "" {
			t.Errorf("a link to what is decided: %s", link)
		}
	case <-ctx.Done():
		t.Error("it was not redelivered")
	}
}

// delivered returns the deliveries of a webhook once all have been taken.
func delivered(ctx context.Context, t *testing.T, cl *client.Client, agentID, taskID, webhookID string) []client.Delivery {
	t.Helper()
	for {
		list, err := cl.Deliveries(ctx, agentID, taskID, webhookID, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 && !slices.ContainsFunc(list, func(d client.Delivery) bool { return d.Status != "succeeded" }) {
			return list
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not all are taken: %+v", list)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// saver connects an agent that asks before it saves.
func saver(t *testing.T, a *apptest.App) (id string) {
	t.Helper()
	connected := make(chan string, 1)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- agent.Run(ctx, agent.Options{
			Name: "saver", Gateway: a.Agents, Key: a.UserKey, Identity: t.TempDir() + "/identity", Connected: func(id string) { connected <- id },
		}, func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
			err := r.Approve(ctx, "save_csv", map[string]string{"path": "a.csv"})
			if denied, ok := errors.AsType[*agent.Denied](err); ok {
				return r.Send(denied.Error())
			}
			if err != nil {
				return err
			}
			return r.Send("saved")
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case id = <-connected:
	case <-time.After(20 * time.Second):
		t.Fatal("the agent did not connect")
	}
	return id
}

func visit(t *testing.T, method, address string, form url.Values) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return answer(t, req)
}

func answer(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
