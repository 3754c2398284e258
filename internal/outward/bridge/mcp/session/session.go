// Package session is a client of MCP servers that leaves messages as they are.
// A Session makes calls (session.go) and handles what the server begins by
// itself (server_messages.go), over a program's stdin and stdout (stdio.go) or
// Streamable HTTP (streamable_http.go). offers.go lists what a server offers,
// as an agent declares it.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

const (
	ModernRevision = "2026-07-28" // no handshake, and questions are results
	legacyRevision = "2025-11-25"

	MetaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = MetaPrefix + "protocolVersion"
	metaClient       = MetaPrefix + "clientInfo"
	MetaCapabilities = MetaPrefix + "clientCapabilities"
	metaLogLevel     = MetaPrefix + "logLevel"
	MetaServer       = MetaPrefix + "serverInfo"

	probeWithin = 10 * time.Second // for a server to say that it is modern
)

// Object is a JSON object whose members stay as they are.
type Object map[string]json.RawMessage

// About is what a server says about itself.
type About struct {
	Revision     string                                `json:"protocolVersion"`
	Revisions    []string                              `json:"supportedVersions"`
	Instructions string                                `json:"instructions"`
	Info         struct{ Name, Title, Version string } `json:"serverInfo"`
	Meta         Object                                `json:"_meta"`
	Capabilities struct {
		Tools     *Feature `json:"tools"`
		Prompts   *Feature `json:"prompts"`
		Resources *Feature `json:"resources"`

		Logging     *struct{} `json:"logging"`
		Completions *struct{} `json:"completions"`
	} `json:"capabilities"`
}

type Feature struct {
	ListChanged bool `json:"listChanged"`
	Subscribe   bool `json:"subscribe"`
}

// Session is one conversation with a server.
type Session struct {
	link   link
	Log    *slog.Logger
	About  About
	notice func(method string, params json.RawMessage) // what concerns no call; nil = this is one caller's own session

	Gone    chan struct{} // closed when the session is over
	running sync.WaitGroup
	stop    context.CancelFunc

	mu      sync.Mutex
	closing bool
	last    int64
	calls   map[jsonrpc.ID]*pendingCall
	asks    map[jsonrpc.ID]context.CancelFunc // questions of the server's
	bound   map[string][]headerBinding        // by tool
}

// pendingCall is a call that has no answer yet.
type pendingCall struct {
	number int64
	answer chan *jsonrpc.Response
	hear   Hooks
}

// Hooks are what a call wants to know before its answer. All may be nil.
type Hooks struct {
	Progress func(params json.RawMessage)
	Log      func(params json.RawMessage)
	Later    func() // the answer takes longer than one should hold the line
	Ask      func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// New begins a session over a link. notice hears what concerns no call; a
// session without one is for the calls of one caller.
func New(l link, log *slog.Logger, notice func(string, json.RawMessage)) *Session {
	ctx, stop := context.WithCancel(context.Background())
	s := &Session{
		link: l, Log: log, notice: notice, stop: stop, Gone: make(chan struct{}),
		calls: map[jsonrpc.ID]*pendingCall{}, asks: map[jsonrpc.ID]context.CancelFunc{},
	}
	s.running.Go(func() { s.readMessages(ctx) }) // until close, or the server is gone
	return s
}

func (s *Session) Modern() bool { return s.About.Revision >= ModernRevision }

// readMessages reads until the link ends.
func (s *Session) readMessages(ctx context.Context) {
	for {
		in, err := s.link.read(ctx)
		if err != nil {
			s.Log.Debug("a session with the server ended", "err", err)
			close(s.Gone)
			return
		}
		switch msg := in.msg.(type) {
		case *jsonrpc.Response:
			s.mu.Lock()
			c := s.calls[msg.ID]
			delete(s.calls, msg.ID)
			s.mu.Unlock()
			if c != nil {
				c.answer <- msg // it has room for one
			}
		case *jsonrpc.Request:
			s.handleServerMessage(ctx, msg, in.of)
		}
	}
}

// spawn runs f as a part of the session, unless that is closing.
func (s *Session) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.running.Go(f)
	}
}

// Ended reports whether the session has ended.
func (s *Session) Ended() bool {
	select {
	case <-s.Gone:
		return true
	default:
		return false
	}
}

// Close ends the session and waits until it has ended.
func (s *Session) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.stop()
	s.link.close()
	s.running.Wait()
}

// Open agrees with the server on how to talk. can is what the other side can
// be asked.
func (s *Session) Open(ctx context.Context, modern bool, can Object) error {
	ctx, cancel := context.WithTimeout(ctx, upstream.OpenWithin)
	defer cancel()
	if modern {
		if ok, err := s.discover(ctx, can); ok || err != nil {
			return err
		}
	}
	s.link.setRevision("")
	s.About = About{}
	raw, err := s.Call(ctx, "initialize", Object{
		"protocolVersion": upstream.EncodeJSON(legacyRevision), "clientInfo": clientInfo, "capabilities": upstream.EncodeJSON(can),
	}, Hooks{})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if err := json.Unmarshal(raw, &s.About); err != nil || s.About.Revision == "" {
		return errors.New("initialize: the server answered something else")
	}
	s.link.setRevision(s.About.Revision)
	if err := s.notify(ctx, "notifications/initialized", nil); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if s.About.Capabilities.Logging != nil {
		if _, err := s.Call(ctx, "logging/setLevel", Object{"level": upstream.EncodeJSON("debug")}, Hooks{}); err != nil {
			s.Log.Debug("the server keeps its log level", "err", err)
		}
	}
	return nil
}

var clientInfo = upstream.EncodeJSON(map[string]string{"name": "beeos", "title": "BeeOS", "version": beeos.Version})

// ErrSilent is for a server that does not answer the question how new it is.
// It may still do so, and has to be asked the older way elsewhere.
var ErrSilent = errors.New("the server does not answer server/discover")

// discover reports whether the server speaks the newest revision.
func (s *Session) discover(ctx context.Context, can Object) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	s.About.Revision = ModernRevision
	s.link.setRevision(ModernRevision)
	raw, err := s.Call(ctx, "server/discover", Object{"_meta": upstream.EncodeJSON(Object{MetaCapabilities: upstream.EncodeJSON(can)})}, Hooks{})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return false, ErrSilent
	case errors.Is(err, upstream.ErrGone):
		return false, err
	case err != nil:
		s.Log.Debug("the server is of the older kind", "err", err)
		return false, nil
	}
	var a About
	if json.Unmarshal(raw, &a) != nil || !slices.Contains(a.Revisions, ModernRevision) {
		return false, nil
	}
	a.Revision = ModernRevision
	_ = json.Unmarshal(a.Meta[MetaServer], &a.Info) // else it has no name
	s.About = a
	return true, nil
}

// Call makes one call and waits for its answer. An error of the server's is a
// *jsonrpc.Error.
func (s *Session) Call(ctx context.Context, method string, params Object, h Hooks) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx) // the link lets go of the call when this returns
	defer cancel()
	id, c := s.beginCall(h)
	defer s.finishCall(id)
	header := s.addRequestMeta(method, params, c)
	if err := s.link.write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: upstream.EncodeJSON(params)}, header); err != nil {
		return nil, fmt.Errorf("%w (%w)", upstream.ErrGone, err)
	}
	select {
	case resp := <-c.answer:
		return resp.Result, resp.Error
	case <-s.Gone:
		select {
		case resp := <-c.answer: // its last words count
			return resp.Result, resp.Error
		default:
			return nil, upstream.ErrGone
		}
	case <-ctx.Done():
		s.cancelCall(ctx, id, method)
		return nil, context.Cause(ctx)
	}
}

func (s *Session) beginCall(h Hooks) (jsonrpc.ID, *pendingCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	id, _ := jsonrpc.MakeID(float64(s.last)) // a number always makes one
	c := &pendingCall{number: s.last, answer: make(chan *jsonrpc.Response, 1), hear: h}
	s.calls[id] = c
	return id, c
}

func (s *Session) finishCall(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// addRequestMeta puts into params what every request says, and returns the
// headers that repeat some of it.
func (s *Session) addRequestMeta(method string, params Object, c *pendingCall) http.Header {
	meta := Object{}
	_ = json.Unmarshal(params["_meta"], &meta) // ours: an object, or not there
	if c.hear.Progress != nil {
		meta["progressToken"] = upstream.EncodeJSON(c.number)
	}
	var header http.Header
	if s.Modern() {
		meta[metaVersion], meta[metaClient] = upstream.EncodeJSON(ModernRevision), clientInfo
		if c.hear.Log != nil {
			meta[metaLogLevel] = upstream.EncodeJSON("debug")
		}
		if meta[MetaCapabilities] == nil {
			meta[MetaCapabilities] = json.RawMessage(`{}`)
		}
		header = http.Header{"Mcp-Method": {method}}
		if name := targetName(params); name != "" {
			header["Mcp-Name"] = []string{encodeHeaderValue(name)}
			s.mu.Lock()
			bound := s.bound[name]
			s.mu.Unlock()
			for _, b := range bound {
				b.writeHeader(params["arguments"], header)
			}
		}
	}
	if len(meta) > 0 {
		params["_meta"] = upstream.EncodeJSON(meta)
	}
	return header
}

func targetName(params Object) (name string) {
	for _, member := range []string{"name", "uri"} {
		if json.Unmarshal(params[member], &name) == nil && name != "" {
			return name
		}
	}
	return ""
}

// cancelCall tells the server that nobody waits any more. The newest revision
// has a stream per call on HTTP, whose end says it; saying it twice does no
// harm.
func (s *Session) cancelCall(ctx context.Context, id jsonrpc.ID, method string) {
	if method == "initialize" || method == "server/discover" {
		return
	}
	why := Object{"requestId": upstream.EncodeJSON(id.Raw()), "reason": upstream.EncodeJSON(fmt.Sprint(context.Cause(ctx)))}
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), upstream.ExitWithin)
	defer cancel()
	if err := s.notify(quick, "notifications/cancelled", why); err != nil {
		s.Log.Debug("a cancellation did not arrive", "err", err)
	}
}

func (s *Session) notify(ctx context.Context, method string, params Object) error {
	req := &jsonrpc.Request{Method: method}
	if params != nil {
		req.Params = upstream.EncodeJSON(params)
	}
	var header http.Header
	if s.Modern() {
		header = http.Header{"Mcp-Method": {method}}
	}
	return s.link.write(ctx, req, header)
}

// jsonrpcCode reads the number out of an answer that came by way of the
// gateway.
func jsonrpcCode(err error) int64 {
	var e *beeos.Error
	if errors.As(err, &e) {
		if n, err := strconv.ParseInt(string(e.Code), 10, 64); err == nil {
			return n
		}
	}
	return jsonrpc.CodeInternalError
}
