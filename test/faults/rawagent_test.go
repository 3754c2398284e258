package faults

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/beeos/beeos"
)

// rawAgent speaks to the agent gateways by plain signed HTTP, so that a test
// decides what is said, when and to which node.
type rawAgent struct {
	t        testing.TB
	key      ed25519.PrivateKey
	instance string
	id       string // the agent's
}

// registerRaw joins at a node and declares one agent, without connecting.
func registerRaw(t testing.TB, n *node, userKey, name string) *rawAgent {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &rawAgent{t: t, key: private}
	body, err := json.Marshal(map[string]any{"name": name, "public_key": []byte(public)})
	if err != nil {
		t.Fatal(err)
	}
	var joined struct {
		InstanceID string `json:"instance_id"`
	}
	a.data(a.exchange(t.Context(), n, http.MethodPost, "/api/v1/agents/join", body, "Bearer "+userKey), &joined)
	a.instance = joined.InstanceID
	var synced struct {
		Created []struct{ ID string }
	}
	body = fmt.Appendf(nil, `{"agents":[{"name":%q}]}`, name)
	a.data(a.signed(t.Context(), n, http.MethodPost, "/api/v1/agents/sync", body), &synced)
	if len(synced.Created) != 1 {
		t.Fatalf("sync made %d agents", len(synced.Created))
	}
	a.id = synced.Created[0].ID
	return a
}

func (a *rawAgent) data(answer []byte, into any) {
	a.t.Helper()
	var env struct{ Data json.RawMessage }
	if err := json.Unmarshal(answer, &env); err != nil || json.Unmarshal(env.Data, into) != nil {
		a.t.Fatalf("the gateway answered %q", answer)
	}
}

func (a *rawAgent) signed(ctx context.Context, n *node, method, path string, body []byte) []byte {
	a.t.Helper()
	return a.exchange(ctx, n, method, path, body, beeos.Sign(a.key, a.instance, method, path, body))
}

// exchange returns the body of the answer; nil when ctx has ended.
func (a *rawAgent) exchange(ctx context.Context, n *node, method, path string, body []byte, authorization string) []byte {
	a.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, n.agents+path, bytes.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return nil
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(resp.Body)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		a.t.Errorf("%s %s: %v", method, path, err)
		return nil
	case resp.StatusCode >= 300:
		a.t.Errorf("%s %s: %s: %s", method, path, resp.Status, body)
		return nil
	}
	return body
}

// connection is a long-polled connection to one node.
type connection struct {
	a    *rawAgent
	node *node
	id   string
}

// connect opens a connection; frames of the agent's then come to receive
// until ctx ends.
func (a *rawAgent) connect(ctx context.Context, n *node, receive func(beeos.Frame)) *connection {
	a.t.Helper()
	c := &connection{a: a, node: n}
	first := frames(a.signed(ctx, n, http.MethodGet, "/api/v1/agents/poll?wait=5s", nil))
	if len(first) == 0 || first[0].Type != beeos.FrameHello {
		a.t.Fatalf("%s does not say hello: %v", n.name, first)
	}
	c.id = first[0].ConnectionID
	polling := make(chan struct{})
	go func() {
		defer close(polling)
		for ctx.Err() == nil && !a.t.Failed() {
			for _, f := range frames(a.signed(ctx, n, http.MethodGet, "/api/v1/agents/poll?wait=5s&connection="+c.id, nil)) {
				receive(f)
			}
		}
	}()
	a.t.Cleanup(func() { <-polling })
	return c
}

// reply sends a terminal reply and returns the gateway's word on it.
func (c *connection) reply(turn, text string) beeos.Frame {
	c.a.t.Helper()
	line, err := json.Marshal(beeos.Frame{Type: beeos.FrameReply, MessageID: turn, Body: text})
	if err != nil {
		c.a.t.Error(err)
	}
	for _, f := range frames(c.a.signed(c.a.t.Context(), c.node, http.MethodPost, "/api/v1/agents/frames?connection="+c.id, line)) {
		if f.Type == beeos.FrameAck && f.MessageID == turn {
			return f
		}
	}
	c.a.t.Errorf("%s says nothing about the reply to %s", c.node.name, turn)
	return beeos.Frame{}
}

func frames(lines []byte) []beeos.Frame {
	var all []beeos.Frame
	for line := range bytes.Lines(lines) {
		var f beeos.Frame
		if json.Unmarshal(line, &f) == nil {
			all = append(all, f)
		}
	}
	return all
}
