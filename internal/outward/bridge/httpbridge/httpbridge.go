// Package httpbridge turns an endpoint into an agent: a POST per message, with
// the line of JSON that a program would get (package jsonline) as its body. The
// answer is JSON, a stream of server-sent events, or text.
package httpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/jsonline"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// Options say which endpoint becomes an agent.
type Options struct {
	URL     string            `name:"http" xor:"what" placeholder:"URL" example:"http://localhost:8000" yaml:"http" help:"Endpoint that answers: a POST per message, JSON or server-sent events back."`
	Timeout upstream.Duration `placeholder:"DURATION" yaml:"timeout" help:"With --http: how long one answer may take. Empty: as long as the caller waits."`
}

// Given reports whether there is an endpoint.
func (o *Options) Given() bool { return o.URL != "" }

// Check finds mistakes before anything is dialled.
func (o *Options) Check(s *settings.Bridge) error { return upstream.CheckURL(s.Option("http"), o.URL) }

// Run serves the endpoint as an agent until ctx ends.
func (o *Options) Run(ctx context.Context, s settings.Bridge) error {
	e := &endpoint{url: o.URL, header: s.Header, timeout: time.Duration(o.Timeout), http: upstream.NewClient()}
	a, err := agent.New(e.connected.Watch(s.Agent), e.answerMessage)
	if err != nil {
		return err
	}
	return upstream.ServeBeside(ctx, func(life context.Context) { e.learnOffer(life, a, s.Log()) }, a.Run)
}

// endpoint is what stands behind an agent.
type endpoint struct {
	url     string
	header  http.Header
	timeout time.Duration
	http    *http.Client

	connected jsonline.Connected
}

// maxApprovals is how often an endpoint may ask in one answer.
const maxApprovals = 100

var (
	errTimeout  = errors.New("the endpoint behind this agent did not answer in time")
	errNoAnswer = errors.New("the endpoint behind this agent answered with something that is no answer")
)

// answerMessage handles one message. The request ends with ctx.
func (e *endpoint) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	if e.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, e.timeout, errTimeout)
		defer cancel()
	}
	q := jsonline.NewInput(m)
	for range maxApprovals {
		asked, err := e.postAndForward(ctx, q, r)
		if err != nil || asked == nil {
			return e.publicError(ctx, err)
		}
		d, err := asked.Decide(ctx, r)
		if err != nil {
			return e.publicError(ctx, err)
		}
		q.Decision = &d
	}
	return errors.New("the endpoint behind this agent asks for approval again and again")
}

// postAndForward posts a message, passes on the answer, and returns the
// question whether a tool may be called that it ended with, if it did.
func (e *endpoint) postAndForward(ctx context.Context, q jsonline.Input, r *agent.Reply) (*jsonline.Approval, error) {
	resp, err := e.postMessage(ctx, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return e.forwardResponse(ctx, resp, r)
}

func (e *endpoint) postMessage(ctx context.Context, q jsonline.Input) (*http.Response, error) {
	body, err := q.Encode()
	if err != nil {
		return nil, fmt.Errorf("the message cannot be passed on: %w", err)
	}
	req, err := upstream.NewRequest(ctx, http.MethodPost, e.url, body, e.header, "application/json, text/event-stream, text/plain")
	if err != nil {
		return nil, err
	}
	if req.Header.Set("Idempotency-Key", q.ID); q.Decision != nil {
		req.Header.Set("Idempotency-Key", q.ID+"-"+q.Decision.Request)
	}
	return e.http.Do(req)
}

// publicError says what went wrong without saying where: the address is
// nobody's business but the operator's.
func (e *endpoint) publicError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the endpoint behind this agent cannot be reached: %w", upstream.WithoutAddress(err))
	}
	return err
}

// forwardResponse passes the answer on.
func (e *endpoint) forwardResponse(ctx context.Context, resp *http.Response, r *agent.Reply) (*jsonline.Approval, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // none: then it is taken for JSON
	switch {
	case resp.StatusCode >= 300:
		return nil, upstream.StatusError(resp, upstream.SecretsOf(e.header)...)
	case resp.StatusCode == http.StatusNoContent:
		return nil, r.Send("")
	case kind == "text/event-stream":
		return forwardStream(ctx, resp.Body, r)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, upstream.MaxLine+1))
	if err != nil {
		return nil, fmt.Errorf("the answer of the endpoint broke off: %w", err)
	}
	if len(body) > upstream.MaxLine {
		return nil, fmt.Errorf("the endpoint's answer is longer than %d bytes", upstream.MaxLine)
	}
	if kind == "text/plain" {
		return nil, r.Send(string(body))
	}
	var s jsonline.Output
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, describeType(resp.Header.Get("Content-Type"))
	}
	if !s.IsFinal() && s.Delta == "" && len(s.Parts) == 0 && len(s.Structured) == 0 && len(s.Attach) == 0 && s.Approve == nil {
		return nil, errNoAnswer
	}
	return s.Approve, forward(ctx, s, r)
}

// describeType says which content type kept an answer from being understood: a
// text that is announced as nothing, or as a page, is what most first endpoints
// send.
func describeType(given string) error {
	kind := "no content type"
	if given != "" {
		kind = "the content type " + beeos.Shorten(beeos.Visible(given), 100)
	}
	return fmt.Errorf("%w: it is not JSON and came with %s; send text/plain for a text, application/json for {\"reply\": ...}, or text/event-stream", errNoAnswer, kind)
}

// forward passes on what the endpoint said, with its files. An endpoint may be
// anywhere, so it names no paths of this machine.
func forward(ctx context.Context, s jsonline.Output, r *agent.Reply) error {
	if err := s.AttachFiles(ctx, r, ""); err != nil {
		return err
	}
	return s.Forward(r)
}

// forwardStream passes events on as they come. The stream's end is the end of
// the answer, if none of them was.
func forwardStream(ctx context.Context, body io.Reader, r *agent.Reply) (*jsonline.Approval, error) {
	for ev, err := range outbound.ReadEvents(body, upstream.MaxLine) {
		if err != nil {
			return nil, err
		}
		if ev.Data == "[DONE]" {
			break
		}
		if ev.Data == "" {
			continue
		}
		var s jsonline.Output
		if err := json.Unmarshal([]byte(ev.Data), &s); err != nil {
			return nil, errNoAnswer
		}
		if err := forward(ctx, s, r); err != nil || s.IsFinal() || s.Approve != nil {
			return s.Approve, err
		}
	}
	return nil, r.Send("")
}
