package peer

import (
	"bufio"
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
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Operation is one thing that a peer is asked, by its name in each dialect and
// its place in HTTP+JSON; * stands for the task.
type Operation struct{ name, old, method, path string }

var (
	OpSend      = Operation{"SendMessage", "message/send", http.MethodPost, "/message:send"}
	OpStream    = Operation{"SendStreamingMessage", "message/stream", http.MethodPost, "/message:stream"}
	OpGet       = Operation{"GetTask", "tasks/get", http.MethodGet, "/tasks/*"}
	OpCancel    = Operation{"CancelTask", "tasks/cancel", http.MethodPost, "/tasks/*:cancel"}
	OpSubscribe = Operation{"SubscribeToTask", "tasks/resubscribe", http.MethodPost, "/tasks/*:subscribe"}
)

// PeerClient asks a peer by one of its interfaces.
type PeerClient struct {
	Access PeerAccess
	Header http.Header // credentials
	Http   *http.Client
	Gate   *account.Gate // nil = the header is all there is
}

// PeerFault is a refusal in the peer's own words.
type PeerFault struct {
	code    int // of JSON-RPC, or of HTTP
	message string
}

func (f *PeerFault) Error() string {
	switch f.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "the agent behind this one does not let us in; its operator has to check the credential: " + f.message
	}
	return "the agent behind this one says: " + f.message
}

// busy: it may be asked again later.
func (f *PeerFault) Busy() bool {
	return f.code == http.StatusTooManyRequests || f.code == http.StatusServiceUnavailable
}

// unreachable is an error of the way to the peer: it may have done its work.
func unreachable(err error) error {
	return &upstream.Unheard{Err: fmt.Errorf("the agent behind this one cannot be reached: %w", err)}
}

// Params are those of an operation on a message, or else on a task.
func (c *PeerClient) Params(m *SaidTo, task string) map[string]any {
	p := map[string]any{}
	if c.Access.Tenant != "" {
		p["tenant"] = c.Access.Tenant
	}
	if m == nil {
		p["id"] = task
		return p
	}
	p["message"] = m.write(c.Access.old())
	return p
}

// AtOnce asks the peer not to keep us waiting for the end of the task.
func (c *PeerClient) AtOnce(p map[string]any) map[string]any {
	if p["configuration"] = map[string]any{"returnImmediately": true}; c.Access.old() {
		p["configuration"] = map[string]any{"blocking": false}
	}
	return p
}

// open sends a request. How far it came decides what an error means.
func (c *PeerClient) open(ctx context.Context, op Operation, p map[string]any, accept string, who Attribution) (*http.Response, error) {
	method, address, body := http.MethodPost, c.Access.URL, upstream.Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": op.name, "params": p})
	switch {
	case c.Access.Binding == "HTTP+JSON":
		id, _ := p["id"].(string)
		tenant := ""
		if c.Access.Tenant != "" {
			tenant = "/" + url.PathEscape(c.Access.Tenant)
		}
		method, address = op.method, strings.TrimRight(address, "/")+tenant+strings.ReplaceAll(op.path, "*", url.PathEscape(id))
		if body = upstream.Encode(p); method == http.MethodGet {
			body = nil
		}
	case c.Access.old():
		body = upstream.Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": op.old, "params": p})
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	who.put(req.Header)
	for name, values := range c.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "beeos/"+beeos.Version)
	if req.Header.Set("A2A-Version", "1.0"); c.Access.old() {
		req.Header.Set("A2A-Version", "0.3")
	}
	resp, err := c.Http.Do(req)
	if err != nil {
		if _, ok := errors.AsType[*beeos.Error](err); ok || errors.Is(err, account.ErrConsent) {
			return nil, account.Why(err) // we have no token
		}
		return nil, unreachable(upstream.WithoutAddress(err))
	}
	return resp, nil
}

// Call asks and reads one answer.
func (c *PeerClient) Call(ctx context.Context, op Operation, p map[string]any, who Attribution) (ev PeerEvent, err error) {
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

// Stream asks and yields what the peer tells, until it stops.
func (c *PeerClient) Stream(ctx context.Context, op Operation, p map[string]any, who Attribution) iter.Seq2[PeerEvent, error] {
	return func(yield func(PeerEvent, error) bool) {
		resp, err := c.open(ctx, op, p, "text/event-stream, application/json", who)
		if err != nil {
			yield(PeerEvent{}, err)
			return
		}
		defer resp.Body.Close()
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // none: then it is no stream
		if kind != "text/event-stream" || resp.StatusCode >= 300 {
			raw, err := c.result(resp)
			var ev PeerEvent
			if err == nil {
				ev, err = readEvent(raw)
			}
			yield(ev, err)
			return
		}
		for one, err := range upstream.Events(resp.Body) {
			if err != nil {
				if err = unreachable(err); errors.Is(err, bufio.ErrTooLong) {
					err = ErrPeerHuge
				}
				yield(PeerEvent{}, err)
				return
			}
			if one.Data == "" {
				continue
			}
			var ev PeerEvent
			raw, err := c.unwrap([]byte(one.Data))
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
func (c *PeerClient) result(resp *http.Response) (json.RawMessage, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, upstream.MaxMessage+1))
	if err != nil {
		return nil, unreachable(err)
	}
	if len(body) > upstream.MaxMessage {
		return nil, ErrPeerHuge
	}
	if resp.StatusCode < 300 {
		return c.unwrap(body)
	}
	if _, err := c.unwrap(body); err != nil {
		if f, ok := errors.AsType[*PeerFault](err); ok {
			return nil, f
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	said, _ := strings.CutPrefix(upstream.Refusal(resp, upstream.SecretsIn(c.Header)...).Error(), "the endpoint behind this agent answered ")
	return nil, &PeerFault{resp.StatusCode, said}
}

// unwrap takes an answer out of its envelope.
func (c *PeerClient) unwrap(raw []byte) (json.RawMessage, error) {
	var env struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(raw, &env); {
	case err != nil:
		return nil, ErrNotA2A
	case env.Error != nil:
		return nil, &PeerFault{env.Error.Code, upstream.Clip(upstream.Hide(env.Error.Message, upstream.SecretsIn(c.Header)...))}
	case c.Access.Binding == "HTTP+JSON":
		return raw, nil
	case len(env.Result) == 0:
		return nil, ErrNotA2A
	}
	return env.Result, nil
}

// Attribution says who asks and who led to it: for the peer to know, and to
// notice when agents call each other in a circle. It opens nothing.
type Attribution struct {
	Agent string
	Chain []string // agents that led here, our own last
}

const (
	headerAgent = "X-A2A-Agent-ID"
	headerChain = "X-A2A-Call-Chain"
	MaxChain    = 8 // agents in a row
)

func (a Attribution) put(h http.Header) {
	if a.Agent != "" {
		h.Set(headerAgent, a.Agent)
		h.Set(headerChain, strings.Join(a.Chain, ","))
	}
}

var ErrPeerHuge = errors.New("the answer of the agent behind this one is too long; it should send a link to a file")
