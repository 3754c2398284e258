// Package client is a small client of the BeeOS REST surface: the agents a
// key reaches, their keys, join tokens, files, webhooks, tasks, conversations
// (follow.go reads what both stream), calls and how to make them again
// (replay.go), approvals, limits, the marketplace,
// built-in agents (instances.go), and Invoke, which waits for an answer or streams it.
// stream.go reads what comes in pieces. Every refusal by the server comes back as a
// *beeos.Error, so that a caller switches on the same codes as everywhere else.
//
//	c := client.New("http://localhost:8095", os.Getenv("BEEOS_KEY"))
//	answer, err := c.Invoke(ctx, "agent_…", client.InvokeRequest{Message: "hello"})
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// maxAnswer bounds what one answer may hold, so that a wrong URL cannot fill
// the memory of the caller.
const maxAnswer = 16 << 20

// Client talks to one REST surface with one key. It is safe for concurrent
// use. HTTP may be replaced before the first call; it must not have a Timeout
// when answers are streamed, since the context bounds every call.
type Client struct {
	HTTP *http.Client

	base string
	key  string
}

// New returns a client of the REST surface at baseURL, for example
// http://localhost:8095, that authenticates with an oag_ or bak_ key. A
// trailing /api/v1 in baseURL is accepted.
func New(baseURL, key string) *Client {
	base := strings.TrimRight(baseURL, "/")
	return &Client{HTTP: http.DefaultClient, base: strings.TrimSuffix(base, "/api/v1"), key: key}
}

// UnreachableError says that no server answered, or that its refusal broke off.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string { return e.URL + " cannot be reached: " + e.Err.Error() }

func (e *UnreachableError) Unwrap() error { return e.Err }

// URL is the base URL that the client talks to.
func (c *Client) URL() string { return c.base }

// KeyPrefix is the beginning of the client's key, by which people recognise it.
func (c *Client) KeyPrefix() string { return c.key[:min(len(c.key), 12)] }

// envelope is the shape of every JSON answer.
type envelope struct {
	Data  json.RawMessage `json:"data"`
	Total int             `json:"total"`
	Error *struct {
		Code    beeos.Code `json:"code"`
		Message string     `json:"message"`
		Details struct {
			Stored beeos.Stored `json:"stored"`
		} `json:"details"`
	} `json:"error"`
}

// do sends one request and decodes the data of its answer into out.
func (c *Client) do(ctx context.Context, method, path string, in, out any) (*envelope, error) {
	req, err := c.newRequest(ctx, method, path, "application/json", in)
	if err != nil {
		return nil, err
	}
	return c.readAnswer(req, out)
}

// call is do for an answer that is one thing.
func call[T any](ctx context.Context, c *Client, method, path string, in any) (*T, error) {
	out := new(T)
	if _, err := c.do(ctx, method, path, in, out); err != nil {
		return nil, err
	}
	return out, nil
}

// apiPath is the path of a thing: its parts, each escaped.
func apiPath(parts ...string) string {
	path := "/api/v1"
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// readAnswer sends a request and decodes the data of its answer into out.
func (c *Client) readAnswer(req *http.Request, out any) (*envelope, error) {
	resp, err := c.sendRequest(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s %s: %w", req.Method, req.URL.Path, err)
	}
	var env envelope
	if len(body) > 0 {
		if err := json.Unmarshal(body, &env); err != nil {
			return nil, fmt.Errorf("%s does not answer like the REST surface of BeeOS; check the URL: %w", c.base, err)
		}
	}
	if out != nil {
		if err := json.Unmarshal(env.Data, out); err != nil {
			return nil, fmt.Errorf("decode the answer of %s %s: %w", req.Method, req.URL.Path, err)
		}
	}
	return &env, nil
}

// send returns the response when its status is a success, else the error that
// its body describes.
func (c *Client) send(ctx context.Context, method, path, accept string, in any) (*http.Response, error) {
	req, err := c.newRequest(ctx, method, path, accept, in)
	if err != nil {
		return nil, err
	}
	return c.sendRequest(req)
}

// newRequest makes a request with the client's key.
func (c *Client) newRequest(ctx context.Context, method, path, accept string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("server URL %q: %w", c.base, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", accept)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if t := beeos.TraceOf(ctx); !t.IsZero() {
		req.Header.Set("Traceparent", t.Parent)
		if t.State != "" {
			req.Header.Set("Tracestate", t.State)
		}
	}
	return req, nil
}

// sendRequest sends a request and returns its response when that is a success.
func (c *Client) sendRequest(req *http.Request) (*http.Response, error) {
	resp, err := c.HTTP.Do(req)
	if err != nil {
		// *url.Error repeats method and URL; the reason is what helps.
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, &UnreachableError{URL: c.base, Err: err}
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.readError(resp)
}

// readError reads an error answer: ours, or that of a JSON-RPC endpoint.
func (c *Client) readError(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return &UnreachableError{URL: c.base, Err: fmt.Errorf("its refusal (HTTP %d) broke off: %w", resp.StatusCode, err)}
	}
	e := &beeos.Error{}
	var env envelope
	var rpc struct{ Error *rpcError }
	switch {
	case json.Unmarshal(body, &env) == nil && env.Error != nil && env.Error.Code != "":
		e.Code, e.Message, e.Stored = env.Error.Code, env.Error.Message, env.Error.Details.Stored
	case json.Unmarshal(body, &rpc) == nil && rpc.Error != nil:
		e = rpc.Error.public()
	default:
		return fmt.Errorf("%s answered %s, which is not how the REST surface of BeeOS answers; check the URL", c.base, resp.Status)
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}
