package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// operation is one thing that a peer is asked, by its name in each dialect and
// its place in HTTP+JSON; * stands for the task.
type operation struct{ name, old, method, path string }

var (
	opSend      = operation{"SendMessage", "message/send", http.MethodPost, "/message:send"}
	opStream    = operation{"SendStreamingMessage", "message/stream", http.MethodPost, "/message:stream"}
	opGet       = operation{"GetTask", "tasks/get", http.MethodGet, "/tasks/*"}
	opCancel    = operation{"CancelTask", "tasks/cancel", http.MethodPost, "/tasks/*:cancel"}
	opSubscribe = operation{"SubscribeToTask", "tasks/resubscribe", http.MethodPost, "/tasks/*:subscribe"}
)

// peerClient asks a peer by one of its interfaces.
type peerClient struct {
	access peerAccess
	header http.Header // credentials
	http   *http.Client
	gate   *gate // nil = the header is all there is
}

// peerFault is a refusal in the peer's own words.
type peerFault struct {
	code    int // of JSON-RPC, or of HTTP
	message string
}

func (f *peerFault) Error() string {
	switch f.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "the agent behind this one does not let us in; its operator has to check the credential: " + f.message
	}
	return "the agent behind this one says: " + f.message
}

// busy: it may be asked again later.
func (f *peerFault) busy() bool {
	return f.code == http.StatusTooManyRequests || f.code == http.StatusServiceUnavailable
}

// unreachable is an error of the way to the peer: it may have done its work.
func unreachable(err error) error {
	return &unheard{fmt.Errorf("the agent behind this one cannot be reached: %w", err)}
}

// brokenOff is an error of reading what the peer says.
func brokenOff(err error) error {
	if errors.Is(err, outbound.ErrTooLarge) {
		return errPeerHuge
	}
	return unreachable(err)
}

// params are those of an operation on a message, or else on a task.
func (c *peerClient) params(m *saidTo, task string) map[string]any {
	p := map[string]any{}
	if c.access.Tenant != "" {
		p["tenant"] = c.access.Tenant
	}
	if m == nil {
		p["id"] = task
		return p
	}
	p["message"] = m.write(c.access.old())
	return p
}

// atOnce asks the peer not to keep us waiting for the end of the task.
func (c *peerClient) atOnce(p map[string]any) map[string]any {
	if p["configuration"] = map[string]any{"returnImmediately": true}; c.access.old() {
		p["configuration"] = map[string]any{"blocking": false}
	}
	return p
}

// open sends a request. How far it came decides what an error means.
func (c *peerClient) open(ctx context.Context, op operation, p map[string]any, accept string, who attribution) (*http.Response, error) {
	method, address, body := http.MethodPost, c.access.URL, encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": op.name, "params": p})
	switch {
	case c.access.Binding == "HTTP+JSON":
		id, _ := p["id"].(string)
		tenant := ""
		if c.access.Tenant != "" {
			tenant = "/" + url.PathEscape(c.access.Tenant)
		}
		method, address = op.method, strings.TrimRight(address, "/")+tenant+strings.ReplaceAll(op.path, "*", url.PathEscape(id))
		if body = encode(p); method == http.MethodGet {
			body = nil
		}
	case c.access.old():
		body = encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": op.old, "params": p})
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	who.put(req.Header)
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "beeos/"+beeos.Version)
	if req.Header.Set("A2A-Version", "1.0"); c.access.old() {
		req.Header.Set("A2A-Version", "0.3")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if _, ok := errors.AsType[*beeos.Error](err); ok || errors.Is(err, errConsent) {
			return nil, why(err) // we have no token
		}
		return nil, unreachable(withoutAddress(err))
	}
	return resp, nil
}

// call asks and reads one answer.
func (c *peerClient) call(ctx context.Context, op operation, p map[string]any, who attribution) (ev peerEvent, err error) {
	resp, err := c.open(ctx, op, p, "application/json", who)
	if err != nil {
		return ev, err
	}
	defer resp.Body.Close()
	raw, err := c.result(resp)
	if err != nil {
		return ev, err
	}
	return readEvent(raw)
}

// stream asks and yields what the peer tells, until it stops.
func (c *peerClient) stream(ctx context.Context, op operation, p map[string]any, who attribution) iter.Seq2[peerEvent, error] {
	return func(yield func(peerEvent, error) bool) {
		resp, err := c.open(ctx, op, p, "text/event-stream, application/json", who)
		if err != nil {
			yield(peerEvent{}, err)
			return
		}
		defer resp.Body.Close()
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // none: then it is no stream
		if kind != "text/event-stream" || resp.StatusCode >= 300 {
			raw, err := c.result(resp)
			var ev peerEvent
			if err == nil {
				ev, err = readEvent(raw)
			}
			yield(ev, err)
			return
		}
		for one, err := range events(resp.Body) {
			if err != nil {
				yield(peerEvent{}, brokenOff(err))
				return
			}
			if one.data == "" {
				continue
			}
			var ev peerEvent
			raw, err := c.unwrap([]byte(one.data))
			if err == nil {
				ev, err = readEvent(raw)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// result is the answer in a response that is no stream.
func (c *peerClient) result(resp *http.Response) (json.RawMessage, error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, brokenOff(err)
	}
	if resp.StatusCode < 300 {
		return c.unwrap(body)
	}
	if _, err := c.unwrap(body); err != nil {
		if f, ok := errors.AsType[*peerFault](err); ok {
			return nil, f
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	said, _ := strings.CutPrefix(refusal(resp, secretsIn(c.header)...).Error(), "the endpoint behind this agent answered ")
	return nil, &peerFault{resp.StatusCode, said}
}

// unwrap takes an answer out of its envelope.
func (c *peerClient) unwrap(raw []byte) (json.RawMessage, error) {
	var env struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(raw, &env); {
	case err != nil:
		return nil, errNotA2A
	case env.Error != nil:
		return nil, &peerFault{env.Error.Code, clip(hide(env.Error.Message, secretsIn(c.header)...))}
	case c.access.Binding == "HTTP+JSON":
		return raw, nil
	case len(env.Result) == 0:
		return nil, errNotA2A
	}
	return env.Result, nil
}

// attribution says who asks and who led to it: for the peer to know, and to
// notice when agents call each other in a circle. It opens nothing.
type attribution struct {
	agent string
	chain []string // agents that led here, our own last
}

const (
	headerAgent = "X-A2A-Agent-ID"
	headerChain = "X-A2A-Call-Chain"
	maxChain    = 8 // agents in a row
)

func (a attribution) put(h http.Header) {
	if a.agent != "" {
		h.Set(headerAgent, a.agent)
		h.Set(headerChain, strings.Join(a.chain, ","))
	}
}

var errPeerHuge = errors.New("the answer of the agent behind this one is too long; it should send a link to a file")
