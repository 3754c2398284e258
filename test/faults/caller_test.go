package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// caller calls one agent at one node with one key.
type caller struct {
	node  *node
	agent string
	key   string
	http  *http.Client
	waits atomic.Int64 // requests that wait for a reply to a message sent before
}

// newCaller returns a caller that uses at most so many connections.
func newCaller(t testing.TB, n *node, agentID, key string, connections int) *caller {
	tr := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}
	t.Cleanup(tr.CloseIdleConnections)
	return &caller{node: n, agent: agentID, key: key, http: &http.Client{Transport: tr, Timeout: 2 * time.Minute}}
}

// tool asks the agent over MCP and returns what it said. idempotency may be
// empty.
func (c *caller) tool(ctx context.Context, text, idempotency string) (string, error) {
	args := map[string]string{"message": text}
	if idempotency != "" {
		args["idempotency_key"] = idempotency
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	cl := client.New(c.node.rest, c.key)
	cl.HTTP = c.http
	res, err := cl.CallTool(ctx, &client.Agent{MCPURL: c.node.mcp + "/" + c.agent + "/mcp"}, c.agent, raw)
	switch {
	case err != nil:
		return "", err
	case res.IsError:
		return "", fmt.Errorf("the agent failed: %s", res.Text())
	}
	return res.Text(), nil
}

// invoke asks the agent over REST.
func (c *caller) invoke(ctx context.Context, text string) (string, error) {
	cl := client.New(c.node.rest, c.key)
	cl.HTTP = c.http
	a, err := cl.Invoke(ctx, c.agent, client.InvokeRequest{Message: text})
	switch {
	case err != nil:
		return "", err
	case a.IsError:
		return "", fmt.Errorf("the agent failed: %s", a.Text)
	}
	return a.Text, nil
}

// channel opens a channel to the agent.
func (c *caller) channel(ctx context.Context) (string, error) {
	var ch beeos.Channel
	err := c.rest(ctx, http.MethodPost, "/channels", map[string]string{"agent_id": c.agent}, &ch)
	return ch.ID, err
}

// send publishes a message on a channel and returns once it is acknowledged.
func (c *caller) send(ctx context.Context, channel, text, idempotency string) (beeos.Message, error) {
	var m beeos.Message
	body := map[string]string{"body": text}
	if idempotency != "" {
		body["idempotency_key"] = idempotency
	}
	err := c.rest(ctx, http.MethodPost, "/channels/"+channel+"/messages", body, &m)
	return m, err
}

// wait returns the reply to a message.
func (c *caller) wait(ctx context.Context, channel, message string) (beeos.Message, error) {
	var m beeos.Message
	err := c.rest(ctx, http.MethodPost, "/channels/"+channel+"/wait", map[string]string{"in_reply_to": message}, &m)
	return m, err
}

// waiting counts the request that it is used for once that is on its way.
func (c *caller) waiting(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { c.waits.Add(1) }})
}

// rest is one exchange with the REST surface.
func (c *caller) rest(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	resp, err := c.post(ctx, method, c.node.rest+path, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return &cutOff{err}
	}
	var env struct {
		Data  json.RawMessage
		Error *struct {
			Code    beeos.Code
			Message string
		}
	}
	if err := json.Unmarshal(text, &env); err != nil {
		return fmt.Errorf("%s answered %q, which is no JSON", resp.Status, text)
	}
	if env.Error != nil {
		return &beeos.Error{Code: env.Error.Code, Message: env.Error.Message}
	}
	return json.Unmarshal(env.Data, out)
}

// post sends a request with the caller's key.
func (c *caller) post(ctx context.Context, method, url string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.key)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &cutOff{err}
	}
	return resp, nil
}

// cutOff is a connection that was refused or broke.
type cutOff struct{ err error }

func (e *cutOff) Error() string { return e.err.Error() }
func (e *cutOff) Unwrap() error { return e.err }

// refused reports whether err is an answer of the server's own, in JSON.
func refused(err error) bool {
	var e *beeos.Error
	return errors.As(err, &e)
}

// unreachable reports whether err says that the connection was refused or
// broke, and not that the caller ran out of patience.
func unreachable(err error) bool {
	if err == nil || refused(err) || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "Client.Timeout") {
		return false
	}
	var c *cutOff
	return errors.As(err, &c) || strings.Contains(err.Error(), "cannot be reached") || errors.Is(err, io.ErrUnexpectedEOF)
}
