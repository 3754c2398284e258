package faults

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/beeos/beeos/client"
)

// told is what a channel was told.
type told struct {
	Type     string
	Approval struct{ ID, Status, URL string }
	id       string
}

// TestChannelIsToldThoughEverybodyDies: kill -9 of the server between a request and its
// delivery, and between a decision by the link and its delivery. The person is asked
// and hears the end, there is one decision, and the tool runs once.
func TestChannelIsToldThoughEverybodyDies(t *testing.T) {
	t.Parallel()
	n := newNode(t, "server", "BEEOS_DURABILITY=fsync", "BEEOS_ALLOW_PRIVATE=true")
	key := n.owner()
	n.start()
	var open atomic.Bool
	came := make(chan told, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := told{id: r.Header.Get("Webhook-Id")}
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		if !open.Load() { // the server dies while it waits for this answer
			one.Type = "refused " + one.Type
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		came <- one
	}))
	t.Cleanup(hook.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	next := func(want string) told {
		t.Helper()
		for {
			select {
			case one := <-came:
				if one.Type == want {
					return one
				}
			case <-ctx.Done():
				t.Fatalf("%s did not come", want)
			}
		}
	}
	cl := client.New(n.rest, key)
	channel, err := cl.CreateNotificationChannel(ctx, client.NotificationChannelRequest{Kind: "webhook", URL: hook.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := spec{Name: "files", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"}
	a := startAgent(t, "agent", s)
	n.online(key, a.id, true)
	c := newCaller(t, n, a.id, key, 20)
	conversation, err := c.channel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.send(ctx, conversation, "save 1,2,3", "")
	if err != nil {
		t.Fatal(err)
	}
	next("refused approval.requested")
	n.proc.Kill()
	open.Store(true)
	n.start()
	asked := next("approval.requested") // a lease that ran out, or another attempt
	link, err := url.Parse(asked.Approval.URL)
	if err != nil || link.Query().Get("token") == "" {
		t.Fatalf("%+v", asked)
	}
	begun(t, 1, a)
	open.Store(false)
	page, _, _ := strings.Cut(asked.Approval.URL, "?")
	resp, err := http.PostForm(page, url.Values{"token": {link.Query().Get("token")}, "decision": {"approve"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", page, resp.StatusCode)
	}
	n.proc.Kill()
	open.Store(true)
	n.start()
	if end := next("approval.decided"); end.Approval.ID != asked.Approval.ID || end.Approval.Status != "approved" {
		t.Errorf("%+v", end)
	}
	if reply, err := c.wait(ctx, conversation, m.ID); err != nil || reply.Body != echoed("save 1,2,3") {
		t.Fatalf("the call ended with %q, %v", reply.Body, err)
	}
	if saved := slices.DeleteFunc(slices.Clone(a.written()), func(l string) bool { return !strings.HasPrefix(l, "saved ") }); len(saved) != 1 {
		t.Errorf("the tool ran %d times", len(saved))
	}
	all, err := cl.Approvals(ctx, "all")
	if err != nil || len(all) != 1 || all[0].Status != "approved" {
		t.Errorf("%+v, %v", all, err)
	}
	list, err := cl.Notifications(ctx, channel.ID, 100)
	if err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}
