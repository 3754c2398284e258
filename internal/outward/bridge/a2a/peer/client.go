// Package peer is a small A2A client for the dialects 1.0 and 0.3: card.go
// reads what a peer says about itself, client.go asks it, and wire.go has what
// is said.
package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/internal/wire/outbound"
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

// Client asks a peer by one of its interfaces.
type Client struct {
	Interface Interface
	Header    http.Header // credentials
	HTTP      *http.Client
	Transport *account.Transport // nil = the header is all there is
}

// Fault is a refusal in the peer's own words.
type Fault struct {
	code    int // of JSON-RPC, or of HTTP
	message string
}

func (f *Fault) Error() string {
	switch f.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "the agent behind this one does not let us in; its operator has to check the credential: " + f.message
	}
	return "the agent behind this one says: " + f.message
}

// Busy reports whether the peer may be asked again later.
func (f *Fault) Busy() bool {
	return f.code == http.StatusTooManyRequests || f.code == http.StatusServiceUnavailable
}

// readError is an error of reading what the peer says.
func readError(err error) error {
	if errors.Is(err, outbound.ErrTooLarge) {
		return ErrTooLarge
	}
	return unreachableError(err)
}

// unreachableError is an error of the way to the peer: it may have done its
// work.
func unreachableError(err error) error {
	return &upstream.Unreachable{Err: fmt.Errorf("the agent behind this one cannot be reached: %w", err)}
}

// Params are those of an operation on a message, or else on a task.
func (c *Client) Params(m *OutMessage, task string) map[string]any {
	p := map[string]any{}
	if c.Interface.Tenant != "" {
		p["tenant"] = c.Interface.Tenant
	}
	if m == nil {
		p["id"] = task
		return p
	}
	p["message"] = m.inDialect(c.Interface.isLegacy())
	return p
}

// ReturnImmediately asks the peer not to keep us waiting for the end of the
// task.
func (c *Client) ReturnImmediately(p map[string]any) map[string]any {
	if p["configuration"] = map[string]any{"returnImmediately": true}; c.Interface.isLegacy() {
		p["configuration"] = map[string]any{"blocking": false}
	}
	return p
}

// sendRequest sends a request. How far it came decides what an error means.
func (c *Client) sendRequest(ctx context.Context, op Operation, p map[string]any, accept string, who Attribution) (*http.Response, error) {
	name, version := op.name, "1.0"
	if c.Interface.isLegacy() {
		name, version = op.old, "0.3"
	}
	method, address, body := http.MethodPost, c.Interface.URL, upstream.EncodeJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": name, "params": p})
	if c.Interface.Binding == "HTTP+JSON" {
		id, _ := p["id"].(string)
		tenant := ""
		if c.Interface.Tenant != "" {
			tenant = "/" + url.PathEscape(c.Interface.Tenant)
		}
		method, address = op.method, strings.TrimRight(address, "/")+tenant+strings.ReplaceAll(op.path, "*", url.PathEscape(id))
		if body = upstream.EncodeJSON(p); method == http.MethodGet {
			body = nil
		}
	}
	header := http.Header{}
	who.setHeaders(header)
	maps.Copy(header, c.Header)
	header.Set("A2A-Version", version)
	req, err := upstream.NewRequest(ctx, method, address, body, header, accept)
	if err != nil {
		return nil, err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		if _, ok := errors.AsType[*beeos.Error](err); ok || errors.Is(err, account.ErrConsent) {
			return nil, account.PublicError(err) // we have no token
		}
		return nil, unreachableError(upstream.WithoutAddress(err))
	}
	return resp, nil
}

// Call asks and reads one answer.
func (c *Client) Call(ctx context.Context, op Operation, p map[string]any, who Attribution) (ev Event, err error) {
	resp, err := c.sendRequest(ctx, op, p, "application/json", who)
	if err != nil {
		return ev, err
	}
	defer resp.Body.Close()
	return c.readResponse(resp)
}

// Stream asks and yields what the peer tells, until it stops.
func (c *Client) Stream(ctx context.Context, op Operation, p map[string]any, who Attribution) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		resp, err := c.sendRequest(ctx, op, p, "text/event-stream, application/json", who)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // none: then it is no stream
		if kind != "text/event-stream" || resp.StatusCode >= 300 {
			yield(c.readResponse(resp))
			return
		}
		for one, err := range outbound.ReadEvents(resp.Body, upstream.MaxLine) {
			if err != nil {
				yield(Event{}, readError(err))
				return
			}
			if one.Data == "" {
				continue
			}
			if ev, err := c.parseEvent([]byte(one.Data)); !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// readResponse reads the answer in a response that is no stream.
func (c *Client) readResponse(resp *http.Response) (ev Event, err error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return ev, readError(err)
	}
	if resp.StatusCode < 300 {
		return c.parseEvent(body)
	}
	_, err = c.unwrapResult(body)
	if f, ok := errors.AsType[*Fault](err); ok {
		return ev, f
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	said, _ := strings.CutPrefix(upstream.StatusError(resp, upstream.SecretsOf(c.Header)...).Error(), "the endpoint behind this agent answered ")
	return ev, &Fault{resp.StatusCode, said}
}

// parseEvent reads an event in its envelope.
func (c *Client) parseEvent(raw []byte) (ev Event, err error) {
	if raw, err = c.unwrapResult(raw); err != nil {
		return ev, err
	}
	return readEvent(raw)
}

// unwrapResult takes an answer out of its envelope.
func (c *Client) unwrapResult(raw []byte) (json.RawMessage, error) {
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
		return nil, &Fault{env.Error.Code, upstream.Shorten(upstream.HideSecrets(env.Error.Message, upstream.SecretsOf(c.Header)...))}
	case c.Interface.Binding == "HTTP+JSON":
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

func (a Attribution) setHeaders(h http.Header) {
	if a.Agent != "" {
		h.Set(headerAgent, a.Agent)
		h.Set(headerChain, strings.Join(a.Chain, ","))
	}
}

var ErrTooLarge = errors.New("the answer of the agent behind this one is too long; it should send a link to a file")
