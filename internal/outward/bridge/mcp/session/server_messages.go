package session

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// handleServerMessage acts on a request or a notification of the server's. of
// is the call on whose stream it came, if the link can tell.
func (s *Session) handleServerMessage(ctx context.Context, req *jsonrpc.Request, of jsonrpc.ID) {
	if req.IsCall() {
		ctx, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		s.asks[req.ID] = cancel
		c := s.callAskedBy(of)
		s.mu.Unlock()
		s.spawn(func() { s.answerQuestion(ctx, req, c) })
		return
	}
	switch req.Method {
	case "notifications/progress":
		var p struct {
			Token int64 `json:"progressToken"`
		}
		if json.Unmarshal(req.Params, &p) != nil {
			return
		}
		id, _ := jsonrpc.MakeID(float64(p.Token))
		if c := s.findCall(id); c != nil && c.hear.Progress != nil {
			c.hear.Progress(req.Params)
		}
	case "notifications/message":
		s.mu.Lock()
		c := s.callLoggedBy(of)
		s.mu.Unlock()
		if c == nil || c.hear.Log == nil {
			s.Log.Debug("the server says", "params", upstream.Shorten(string(req.Params)))
			return
		}
		c.hear.Log(req.Params)
	case hungUp:
		if c := s.findCall(of); c != nil && c.hear.Later != nil {
			c.hear.Later()
		}
	case "notifications/cancelled":
		var p struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(req.Params, &p) != nil {
			return
		}
		if id, err := jsonrpc.MakeID(p.ID); err == nil {
			s.cancelQuestion(id)
		}
	default:
		if s.notice != nil {
			s.notice(req.Method, req.Params)
		}
	}
}

func (s *Session) findCall(id jsonrpc.ID) *pendingCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// callAskedBy is the call that a question belongs to: the one on whose stream
// it came or, where there are no streams, the latest that can be asked: all
// calls of such a session are one caller's. In a session that callers share
// nobody is asked then, for it may be about somebody else's call. s.mu is held.
func (s *Session) callAskedBy(of jsonrpc.ID) *pendingCall {
	if c := s.calls[of]; c != nil && of.IsValid() {
		return c
	}
	if s.notice != nil {
		return nil
	}
	var latest *pendingCall
	for _, c := range s.calls {
		if c.hear.Ask != nil && (latest == nil || c.number > latest.number) {
			latest = c
		}
	}
	return latest
}

// callLoggedBy is the call that a log message belongs to. When several are
// under way nobody can tell, and one caller's log is not for another. s.mu is
// held.
func (s *Session) callLoggedBy(of jsonrpc.ID) *pendingCall {
	if c := s.calls[of]; c != nil && of.IsValid() {
		return c
	}
	var only *pendingCall
	for _, c := range s.calls {
		if c.hear.Log == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// cancelQuestion ends a question of the server's.
func (s *Session) cancelQuestion(id jsonrpc.ID) {
	s.mu.Lock()
	cancel := s.asks[id]
	delete(s.asks, id)
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answerQuestion answers a request of the server's.
func (s *Session) answerQuestion(ctx context.Context, req *jsonrpc.Request, c *pendingCall) {
	defer s.cancelQuestion(req.ID)
	resp := &jsonrpc.Response{ID: req.ID}
	switch {
	case req.Method == "ping":
		resp.Result = json.RawMessage(`{}`)
	case c == nil || c.hear.Ask == nil:
		resp.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "nobody is there who could be asked: " + req.Method}
	default:
		result, err := c.hear.Ask(ctx, req.Method, req.Params)
		if err != nil {
			err = &jsonrpc.Error{Code: jsonrpcCode(err), Message: err.Error()}
		}
		resp.Result, resp.Error = result, err
	}
	if ctx.Err() != nil {
		return // taken back, or the session is over
	}
	if err := s.link.write(ctx, resp, nil); err != nil {
		s.Log.Warn("an answer did not reach the server", "method", req.Method, "err", err)
	}
}

// headerBinding is an argument that clients of the newest revision repeat in a
// header: x-mcp-header in the tool's schema.
type headerBinding struct {
	header string
	path   []string
}

func findHeaderBindings(schema json.RawMessage, path []string) (found []headerBinding) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || len(path) > 16 {
		return nil
	}
	for name, property := range s.Properties {
		var p struct {
			Header string `json:"x-mcp-header"`
		}
		at := append(path[:len(path):len(path)], name)
		if json.Unmarshal(property, &p) == nil && upstream.HeaderName.MatchString(p.Header) {
			found = append(found, headerBinding{http.CanonicalHeaderKey("Mcp-Param-" + p.Header), at})
			continue
		}
		found = append(found, findHeaderBindings(property, at)...)
	}
	return found
}

// writeHeader writes the arguments that b wants into h.
func (b headerBinding) writeHeader(arguments json.RawMessage, h http.Header) {
	value := arguments
	for _, step := range b.path {
		var o Object
		if json.Unmarshal(value, &o) != nil {
			return
		}
		value = o[step]
	}
	if len(value) == 0 || string(value) == "null" {
		return
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value) // a number or a boolean, as it is
	}
	h[b.header] = []string{encodeHeaderValue(text)}
}

// encodeHeaderValue writes text so that a header can carry it.
func encodeHeaderValue(text string) string {
	special := func(r rune) bool { return r < ' ' || r > '~' }
	if text == strings.TrimSpace(text) && !strings.HasPrefix(text, "=?base64?") && !strings.ContainsFunc(text, special) {
		return text
	}
	return fmt.Sprintf("=?base64?%s?=", base64.StdEncoding.EncodeToString([]byte(text)))
}
