package bridge

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
)

const (
	modernRevision = "2026-07-28" // no handshake, and questions are results
	legacyRevision = "2025-11-25"

	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaClient       = metaPrefix + "clientInfo"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaLogLevel     = metaPrefix + "logLevel"
	metaServer       = metaPrefix + "serverInfo"

	probeWithin = 10 * time.Second // for a server to say that it is modern
	openWithin  = 60 * time.Second // npx may have to install it first
)

// object is a JSON object whose members stay as they are.
type object map[string]json.RawMessage

// about is what a server says about itself.
type about struct {
	Revision     string                                `json:"protocolVersion"`
	Revisions    []string                              `json:"supportedVersions"`
	Instructions string                                `json:"instructions"`
	Info         struct{ Name, Title, Version string } `json:"serverInfo"`
	Meta         object                                `json:"_meta"`
	Capabilities struct {
		Tools     *feature `json:"tools"`
		Prompts   *feature `json:"prompts"`
		Resources *feature `json:"resources"`

		Logging     *struct{} `json:"logging"`
		Completions *struct{} `json:"completions"`
	} `json:"capabilities"`
}

type feature struct {
	ListChanged bool `json:"listChanged"`
	Subscribe   bool `json:"subscribe"`
}

// session is one conversation with a server.
type session struct {
	link   link
	log    *slog.Logger
	about  about
	notice func(method string, params json.RawMessage) // what concerns no call

	gone    chan struct{} // closed when the session is over
	running sync.WaitGroup
	stop    context.CancelFunc

	mu      sync.Mutex
	closing bool
	shared  bool // by all callers
	last    int64
	calls   map[jsonrpc.ID]*pending
	asks    map[jsonrpc.ID]context.CancelFunc // questions of the server's
	bound   map[string][]binding              // by tool
}

// pending is a call that has no answer yet.
type pending struct {
	number int64
	answer chan *jsonrpc.Response
	hear   hooks
}

// hooks are what a call wants to know before its answer. All may be nil.
type hooks struct {
	progress func(params json.RawMessage)
	log      func(params json.RawMessage)
	later    func() // the answer takes longer than one should hold the line
	ask      func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

func newSession(l link, log *slog.Logger, notice func(string, json.RawMessage)) *session {
	ctx, stop := context.WithCancel(context.Background())
	s := &session{
		link: l, log: log, notice: notice, stop: stop, gone: make(chan struct{}),
		calls: map[jsonrpc.ID]*pending{}, asks: map[jsonrpc.ID]context.CancelFunc{},
	}
	s.running.Go(func() { s.run(ctx) }) // until close, or the server is gone
	return s
}

func (s *session) modern() bool { return s.about.Revision >= modernRevision }

// share makes this a session for the calls of all callers.
func (s *session) share() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = true
}

// run reads until the link ends.
func (s *session) run(ctx context.Context) {
	for {
		in, err := s.link.read(ctx)
		if err != nil {
			s.log.Debug("a session with the server ended", "err", err)
			close(s.gone)
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
			s.heard(ctx, msg, in.of)
		}
	}
}

// spawn runs f as a part of the session, unless that is closing.
func (s *session) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.running.Go(f)
	}
}

// over reports whether the session has ended.
func (s *session) over() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// close ends the session and waits until it has ended.
func (s *session) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.stop()
	s.link.close()
	s.running.Wait()
}

// open agrees with the server on how to talk. can is what the other side can
// be asked.
func (s *session) open(ctx context.Context, modern bool, can object) error {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if modern {
		if ok, err := s.discover(ctx, can); ok || err != nil {
			return err
		}
	}
	s.link.speak("")
	s.about = about{}
	raw, err := s.call(ctx, "initialize", object{
		"protocolVersion": encode(legacyRevision), "clientInfo": clientInfo, "capabilities": encode(can),
	}, hooks{})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if err := json.Unmarshal(raw, &s.about); err != nil || s.about.Revision == "" {
		return errors.New("initialize: the server answered something else")
	}
	s.link.speak(s.about.Revision)
	if err := s.notify(ctx, "notifications/initialized", nil); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if s.about.Capabilities.Logging != nil {
		if _, err := s.call(ctx, "logging/setLevel", object{"level": encode("debug")}, hooks{}); err != nil {
			s.log.Debug("the server keeps its log level", "err", err)
		}
	}
	return nil
}

var clientInfo = encode(map[string]string{"name": "beeos", "title": "BeeOS", "version": beeos.Version})

// errSilent is for a server that does not answer the question how new it is.
// It may still do so, and has to be asked the older way elsewhere.
var errSilent = errors.New("the server does not answer server/discover")

// discover reports whether the server speaks the newest revision.
func (s *session) discover(ctx context.Context, can object) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	s.about.Revision = modernRevision
	s.link.speak(modernRevision)
	raw, err := s.call(ctx, "server/discover", object{"_meta": encode(object{metaCapabilities: encode(can)})}, hooks{})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return false, errSilent
	case errors.Is(err, errGone):
		return false, err
	case err != nil:
		s.log.Debug("the server is of the older kind", "err", err)
		return false, nil
	}
	var a about
	if json.Unmarshal(raw, &a) != nil || !slices.Contains(a.Revisions, modernRevision) {
		return false, nil
	}
	a.Revision = modernRevision
	_ = json.Unmarshal(a.Meta[metaServer], &a.Info) // else it has no name
	s.about = a
	return true, nil
}

// call makes one call and waits for its answer. An error of the server's is a
// *jsonrpc.Error.
func (s *session) call(ctx context.Context, method string, params object, h hooks) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx) // the link lets go of the call when this returns
	defer cancel()
	id, c := s.begin(h)
	defer s.finish(id)
	header := s.address(method, params, c)
	if err := s.link.write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: encode(params)}, header); err != nil {
		return nil, fmt.Errorf("%w (%w)", errGone, err)
	}
	select {
	case resp := <-c.answer:
		return resp.Result, resp.Error
	case <-s.gone:
		select {
		case resp := <-c.answer: // its last words count
			return resp.Result, resp.Error
		default:
			return nil, errGone
		}
	case <-ctx.Done():
		s.cancel(ctx, id, method)
		return nil, context.Cause(ctx)
	}
}

func (s *session) begin(h hooks) (jsonrpc.ID, *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	id, _ := jsonrpc.MakeID(float64(s.last)) // a number always makes one
	c := &pending{number: s.last, answer: make(chan *jsonrpc.Response, 1), hear: h}
	s.calls[id] = c
	return id, c
}

func (s *session) finish(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// address puts into params what every request says, and returns the headers
// that repeat some of it.
func (s *session) address(method string, params object, c *pending) http.Header {
	meta := object{}
	_ = json.Unmarshal(params["_meta"], &meta) // ours: an object, or not there
	if c.hear.progress != nil {
		meta["progressToken"] = encode(c.number)
	}
	var header http.Header
	if s.modern() {
		meta[metaVersion], meta[metaClient] = encode(modernRevision), clientInfo
		if c.hear.log != nil {
			meta[metaLogLevel] = encode("debug")
		}
		if meta[metaCapabilities] == nil {
			meta[metaCapabilities] = json.RawMessage(`{}`)
		}
		header = http.Header{"Mcp-Method": {method}}
		if name := nameIn(params); name != "" {
			header["Mcp-Name"] = []string{headerValue(name)}
			s.mu.Lock()
			bound := s.bound[name]
			s.mu.Unlock()
			for _, b := range bound {
				b.repeat(params["arguments"], header)
			}
		}
	}
	if len(meta) > 0 {
		params["_meta"] = encode(meta)
	}
	return header
}

func nameIn(params object) (name string) {
	for _, member := range []string{"name", "uri"} {
		if json.Unmarshal(params[member], &name) == nil && name != "" {
			return name
		}
	}
	return ""
}

// cancel tells the server that nobody waits any more. The newest revision has
// a stream per call on HTTP, whose end says it; saying it twice does no harm.
func (s *session) cancel(ctx context.Context, id jsonrpc.ID, method string) {
	if method == "initialize" || method == "server/discover" {
		return
	}
	why := object{"requestId": encode(id.Raw()), "reason": encode(fmt.Sprint(context.Cause(ctx)))}
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitExit)
	defer cancel()
	if err := s.notify(quick, "notifications/cancelled", why); err != nil {
		s.log.Debug("a cancellation did not arrive", "err", err)
	}
}

func (s *session) notify(ctx context.Context, method string, params object) error {
	req := &jsonrpc.Request{Method: method}
	if params != nil {
		req.Params = encode(params)
	}
	var header http.Header
	if s.modern() {
		header = http.Header{"Mcp-Method": {method}}
	}
	return s.link.write(ctx, req, header)
}

// errorCode reads the number out of an answer that came by way of the gateway.
func errorCode(err error) int64 {
	var e *beeos.Error
	if errors.As(err, &e) {
		if n, err := strconv.ParseInt(string(e.Code), 10, 64); err == nil {
			return n
		}
	}
	return jsonrpc.CodeInternalError
}
