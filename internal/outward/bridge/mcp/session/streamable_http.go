package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// maxResumes is how often a stream that broke off is picked up again.
const maxResumes = 5

var errSessionOver = errors.New("the server has ended the session")

// streamableHTTP is the link to a server that speaks Streamable HTTP. Every
// request is a POST of its own, so what comes back on its stream belongs to it.
type streamableHTTP struct {
	url    string
	header http.Header
	http   *http.Client
	log    *slog.Logger

	in      chan incoming
	life    context.Context
	end     context.CancelCauseFunc
	running sync.WaitGroup

	mu       sync.Mutex
	session  string
	revision string
}

func OpenHTTP(url string, header http.Header, client *http.Client, log *slog.Logger) *streamableHTTP {
	l := &streamableHTTP{url: url, header: header, http: client, log: log, in: make(chan incoming, 16)}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

func (l *streamableHTTP) read(ctx context.Context) (incoming, error) {
	select {
	case in := <-l.in:
		return in, nil
	case <-l.life.Done():
		return incoming{}, context.Cause(l.life)
	case <-ctx.Done():
		return incoming{}, ctx.Err()
	}
}

// write posts a message. A request's answer is read in the background.
func (l *streamableHTTP) write(ctx context.Context, msg jsonrpc.Message, header http.Header) error {
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		return l.spawn(func() { l.sendRequest(ctx, req, body, header) })
	}
	resp, err := l.doRequest(ctx, http.MethodPost, body, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return l.statusError(resp)
	}
	return nil
}

// spawn runs f as a part of the link, unless that is closed.
func (l *streamableHTTP) spawn(f func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := context.Cause(l.life); err != nil {
		return err
	}
	l.running.Go(f)
	return nil
}

func (l *streamableHTTP) doRequest(ctx context.Context, method string, body []byte, header http.Header) (*http.Response, error) {
	accept := "text/event-stream"
	if method == http.MethodPost {
		accept = "application/json, text/event-stream"
	}
	req, err := upstream.NewRequest(ctx, method, l.url, body, l.header, accept)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	l.mu.Lock()
	for name, value := range map[string]string{"MCP-Protocol-Version": l.revision, "Mcp-Session-Id": l.session} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	l.mu.Unlock()
	resp, err := l.http.Do(req)
	if err != nil {
		return nil, upstream.WithoutAddress(err)
	}
	return resp, nil
}

// hungUp is what a session hears when the server has closed the stream of a
// call before its answer: it will take a while.
const hungUp = "beeos/hung_up"

// sendRequest is one request and all that comes back for it.
func (l *streamableHTTP) sendRequest(ctx context.Context, req *jsonrpc.Request, body []byte, header http.Header) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	resp, err := l.doRequest(ctx, http.MethodPost, body, header)
	if err != nil {
		l.answerWithFault(req, fmt.Errorf("the server behind this agent cannot be reached: %w", err))
		return
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && req.Method == "initialize" {
		l.mu.Lock()
		l.session = id
		l.mu.Unlock()
	}
	answered, last, err := l.readResponse(resp, req.ID)
	if !answered && err == nil {
		l.deliverTo(req.ID, &jsonrpc.Request{Method: hungUp})
	}
	for try := 0; !answered && err == nil && last != "" && try < maxResumes; try++ {
		if !upstream.Pause(ctx, upstream.MinPause) {
			return
		}
		if resp, err = l.doRequest(ctx, http.MethodGet, nil, http.Header{"Last-Event-Id": {last}}); err == nil {
			answered, last, err = l.readResponse(resp, req.ID)
		}
	}
	switch {
	case answered || ctx.Err() != nil:
	case err != nil:
		l.answerWithFault(req, err)
	default:
		l.answerWithFault(req, errors.New("the server's stream broke off before its answer"))
	}
}

// readResponse passes on what resp brings, up to the answer to id.
func (l *streamableHTTP) readResponse(resp *http.Response, id jsonrpc.ID) (answered bool, last string, err error) {
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // none: then nothing that we read
	if kind == "text/event-stream" && resp.StatusCode < 300 {
		for ev, err := range outbound.ReadEvents(resp.Body, upstream.MaxLine) {
			if errors.Is(err, outbound.ErrTooLarge) {
				return false, last, err // it would be again
			}
			if err != nil {
				return false, last, nil //nolint:nilerr // the stream may be picked up again
			}
			last = ev.ID
			if ev.Data == "" {
				continue
			}
			if answered, err := l.deliverMessage([]byte(ev.Data), id); answered || err != nil {
				return answered, last, err
			}
		}
		return false, last, nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, "", err
	}
	if kind == "application/json" {
		if answered, err = l.deliverMessage(body, id); answered {
			return true, "", nil
		}
	}
	if resp.StatusCode < 300 && err == nil {
		err = errors.New("the server's answer belongs to something else")
	}
	if resp.StatusCode >= 300 {
		resp.Body = io.NopCloser(bytes.NewReader(body))
		err = l.statusError(resp)
	}
	return false, "", err
}

// deliverMessage hands on one message and reports whether it answers id.
func (l *streamableHTTP) deliverMessage(data []byte, id jsonrpc.ID) (answered bool, err error) {
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return false, errors.New("the server sent something that is no JSON-RPC")
	}
	resp, ok := msg.(*jsonrpc.Response)
	if ok && resp.ID != id {
		return false, nil // nobody waits for it here
	}
	l.deliverTo(id, msg)
	return ok, nil
}

func (l *streamableHTTP) deliverTo(id jsonrpc.ID, msg jsonrpc.Message) {
	select {
	case l.in <- incoming{msg, id}:
	case <-l.life.Done():
	}
}

// statusError is an answer that is none. A session that is over ends the link.
func (l *streamableHTTP) statusError(resp *http.Response) error {
	if resp.StatusCode == http.StatusNotFound && l.sessionID() != "" {
		l.end(errSessionOver)
		return errSessionOver
	}
	return upstream.StatusError(resp, upstream.SecretsOf(l.header)...)
}

// sessionID is the server's name for the session; empty = it has none.
func (l *streamableHTTP) sessionID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// answerWithFault answers req in the server's place.
func (l *streamableHTTP) answerWithFault(req *jsonrpc.Request, err error) {
	l.deliverTo(req.ID, &jsonrpc.Response{ID: req.ID, Error: &upstream.Unreachable{Err: err}})
}

// setRevision notes the revision. Before 2026-07-28 there is a stream for what
// belongs to no request.
func (l *streamableHTTP) setRevision(revision string) {
	l.mu.Lock()
	l.revision = revision
	l.mu.Unlock()
	if l.sessionID() != "" && revision < ModernRevision {
		_ = l.spawn(l.listenForNotices) // closing: then nobody wants to hear
	}
}

// listenForNotices keeps that stream open, if the server has one.
func (l *streamableHTTP) listenForNotices() {
	last, pause := "", upstream.MinPause
	for l.life.Err() == nil {
		var h http.Header
		if last != "" {
			h = http.Header{"Last-Event-Id": {last}}
		}
		resp, err := l.doRequest(l.life, http.MethodGet, nil, h)
		if err == nil && resp.StatusCode >= 400 {
			resp.Body.Close()
			l.log.Debug("the server has no stream for notices", "status", resp.Status)
			return
		}
		if err == nil {
			pause = upstream.MinPause
			if _, id, _ := l.readResponse(resp, jsonrpc.ID{}); id != "" { // that it ended is all there is to know
				last = id
			}
		}
		if !upstream.Pause(l.life, pause) {
			return
		}
		pause = min(2*pause, upstream.MaxPause)
	}
}

func (l *streamableHTTP) close() {
	if l.sessionID() != "" && !errors.Is(context.Cause(l.life), errSessionOver) {
		ctx, cancel := context.WithTimeout(context.Background(), upstream.ExitWithin)
		defer cancel()
		if resp, err := l.doRequest(ctx, http.MethodDelete, nil, nil); err == nil {
			resp.Body.Close()
		}
	}
	l.mu.Lock()
	l.end(io.EOF)
	l.mu.Unlock()
	l.running.Wait()
}
