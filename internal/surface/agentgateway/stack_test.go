package agentgateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// stack is the real thing: store, ledger, bus, calls, and the gateway behind
// an HTTP server.
type stack struct {
	t         testing.TB
	ctx       context.Context
	db        *store.Store
	ledger    *ledger.Ledger
	bus       *bus.Bus
	calls     *invoke.Calls
	approvals *approval.Approvals
	gateway   *Surface
	server    *httptest.Server

	owner beeos.User
	key   string // the owner's

	ahead atomic.Int64 // how far the clock of calls and ledger is ahead, in nanoseconds
}

// later lets time pass for deadlines, leases and those who are waited for.
func (s *stack) later(d time.Duration) { s.ahead.Add(int64(d)) }

func (s *stack) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func newStack(t testing.TB) *stack {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &stack{t: t, ctx: ctx}
	var err error
	s.db, err = store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "test.db")+"?durability=os")
	s.must(err)
	s.bus, err = bus.Open(ctx, bus.Options{})
	s.must(err)
	s.ledger, err = ledger.Open(ctx, s.db.DB, ledger.Options{Committed: invoke.Committed(s.bus), Now: s.now})
	s.must(err)
	s.calls = invoke.New(invoke.Options{Agents: s.db.Agents, Approvals: s.db.Approvals, Cluster: s.db.Cluster, Ledger: s.ledger, Bus: s.bus, RateLimit: 1_000_000, Now: s.now})
	s.approvals = approval.New(approval.Options{Table: s.db.Approvals, Agents: s.db.Agents, Tools: s.db.Builtins, People: s.db.People, Cluster: s.db.Cluster, Ledger: s.ledger, Bus: s.bus, Web: "http://console.example"})
	check := auth.New(auth.Options{Keys: s.db.Keys, Instances: s.db.Instances, People: s.db.People, Cluster: s.db.Cluster, Methods: []auth.Method{{ // of a kind that the gateway knows nothing of
		Prefix: "new_", Surfaces: []auth.Surface{auth.Agents}, Check: func(*http.Request, string, auth.Audience) (beeos.Caller, error) {
			return beeos.Caller{Kind: "new", UserID: s.owner.ID}, nil
		},
	}}})
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	s.gateway = New(Options{Agents: s.db.Agents, Instances: s.db.Instances, Audit: s.db.Audit, Auth: check, Ledger: s.ledger, Bus: s.bus, Calls: s.calls, Approvals: s.approvals, Log: log})
	s.server = httptest.NewServer(&httpd.Handler{Next: s.gateway, Log: log})
	running, stop := context.WithCancel(ctx)
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return s.calls.Run(running) })
	group.Go(func() error { return s.approvals.Run(running) })
	group.Go(func() error { return s.gateway.Run(running) })
	t.Cleanup(func() {
		stop()
		s.must(group.Wait())
		s.server.Close()
		cancel()
		s.ledger.Close()
		s.bus.Close()
		s.db.Close()
	})

	s.owner = beeos.User{ID: beeos.NewID(), Email: "owner@example.com", Name: "owner", CreatedAt: time.Now()}
	s.must(s.db.People.CreateUser(ctx, s.owner))
	secret, hash, prefix := auth.NewKey(beeos.UserKey)
	s.key = secret
	s.must(s.db.Keys.Create(ctx, beeos.Key{ID: "key_owner", Kind: beeos.UserKey, OwnerID: s.owner.ID, Name: "owner", Prefix: prefix, CreatedAt: time.Now()}, hash))
	return s
}

func (s *stack) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// eventually waits for what no event tells.
func (s *stack) eventually(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("never: %s", what)
		}
	}
}

// process is an agent process: an identity that signs requests.
type process struct {
	*stack
	key  ed25519.PrivateKey
	inst string
}

// join registers a new identity with the owner's key.
func (s *stack) join() *process {
	s.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	s.must(err)
	body, err := json.Marshal(map[string]string{"name": "test", "public_key": base64.StdEncoding.EncodeToString(public)})
	s.must(err)
	var got joinAnswer
	status := s.exchange("POST", "/api/v1/agents/join", body, "Bearer "+s.key, &got)
	if status != http.StatusCreated || got.InstanceID == "" || got.KeyID != got.InstanceID {
		s.t.Fatalf("join: %d %+v", status, got)
	}
	return &process{stack: s, key: private, inst: got.InstanceID}
}

// exchange sends a request and decodes data, or error, of the answer.
func (s *stack) exchange(method, path string, body []byte, authorization string, into any) (status int) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, s.server.URL+path, bytes.NewReader(body))
	s.must(err)
	req.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	s.must(err)
	defer resp.Body.Close()
	var envelope struct {
		Data  json.RawMessage `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	text, err := io.ReadAll(resp.Body)
	s.must(err)
	s.must(json.Unmarshal(text, &envelope))
	raw := envelope.Data
	if resp.StatusCode >= 400 {
		raw = envelope.Error
	}
	if into != nil {
		s.must(json.Unmarshal(raw, into))
	}
	return resp.StatusCode
}

// status sends a request for which the answer's body does not matter.
func (s *stack) status(method, path string, body []byte, authorization string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, s.server.URL+path, bytes.NewReader(body))
	s.must(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", authorization)
	resp, err := http.DefaultClient.Do(req)
	s.must(err)
	resp.Body.Close()
	return resp.StatusCode
}

func (p *process) sign(method, path string, body []byte) string {
	return beeos.Sign(p.key, p.inst, method, path, body)
}

// sync declares agents and returns their ids by name.
func (p *process) sync(defs ...beeos.Definition) map[string]string {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"agents": defs})
	p.must(err)
	var got agents.SyncResult
	if status := p.exchange("POST", "/api/v1/agents/sync", body, p.sign("POST", "/api/v1/agents/sync", body), &got); status != http.StatusOK {
		p.t.Fatalf("sync: %d", status)
	}
	return got.IDs()
}

// peer is a connected agent by any transport.
type peer interface {
	send(frames ...beeos.Frame)
	next() beeos.Frame // the next frame, whatever it is
	kill()             // as if the process died
}

// expect returns the next frame and fails unless it is of the type.
func expect(t testing.TB, p peer, want beeos.FrameType) beeos.Frame {
	t.Helper()
	f := p.next()
	if f.Type != want {
		t.Fatalf("got %s, want %s", show(f), want)
	}
	return f
}

func show(f beeos.Frame) string {
	b, _ := json.Marshal(f)
	return string(b)
}

// inbox queues frames that came in.
type inbox struct {
	t      testing.TB
	frames chan beeos.Frame
}

func newInbox(t testing.TB) inbox { return inbox{t: t, frames: make(chan beeos.Frame, 1024)} }

func (in inbox) next() beeos.Frame {
	in.t.Helper()
	select {
	case f, ok := <-in.frames:
		if !ok {
			in.t.Fatal("the connection closed")
		}
		return f
	case <-time.After(10 * time.Second):
		in.t.Fatal("no frame came")
		return beeos.Frame{}
	}
}

func (in inbox) fill(data []byte) {
	for line := range strings.Lines(string(data)) {
		var f beeos.Frame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			in.t.Errorf("frame %q: %v", line, err)
		}
		in.frames <- f
	}
}

func lines(frames []beeos.Frame) []byte {
	var b bytes.Buffer
	for _, f := range frames {
		b.Write(codec.Encode(&f))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// wsPeer is connected by WebSocket.
type wsPeer struct {
	inbox
	p  *process
	ws *websocket.Conn
}

// dial connects and reads nothing.
func (p *process) dial(query string) *wsPeer {
	p.t.Helper()
	path := "/api/v1/agents/connect" + query
	ws, _, err := websocket.Dial(p.ctx, p.server.URL+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {p.sign("GET", path, nil)}}})
	p.must(err)
	ws.SetReadLimit(-1)
	p.t.Cleanup(func() { ws.CloseNow() })
	return &wsPeer{inbox: newInbox(p.t), p: p, ws: ws}
}

func (p *process) websocket(query string) *wsPeer {
	p.t.Helper()
	w := p.dial(query)
	go func() { // ends with the socket
		defer close(w.frames)
		for {
			_, data, err := w.ws.Read(context.Background())
			if err != nil {
				return
			}
			w.fill(data)
		}
	}()
	return w
}

func (w *wsPeer) raw(text string) {
	w.p.t.Helper()
	w.p.must(w.ws.Write(w.p.ctx, websocket.MessageText, []byte(text)))
}

func (w *wsPeer) send(frames ...beeos.Frame) { w.raw(string(lines(frames))) }
func (w *wsPeer) kill()                      { w.ws.CloseNow() }

// httpPeer receives by events or polls, and sends by POST.
type httpPeer struct {
	inbox
	p    *process
	conn string
	stop context.CancelFunc
}

func (h *httpPeer) post(body []byte) (status int, answer []byte) {
	h.p.t.Helper()
	path := "/api/v1/agents/frames?connection=" + h.conn
	req, err := http.NewRequestWithContext(h.p.ctx, "POST", h.p.server.URL+path, bytes.NewReader(body))
	h.p.must(err)
	req.Header.Set("Authorization", h.p.sign("POST", path, body))
	resp, err := http.DefaultClient.Do(req)
	h.p.must(err)
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	h.p.must(err)
	return resp.StatusCode, answer
}

func (h *httpPeer) send(frames ...beeos.Frame) {
	h.p.t.Helper()
	status, answer := h.post(lines(frames))
	if status != http.StatusOK {
		h.p.t.Fatalf("frames: %d %s", status, answer)
	}
	h.fill(answer)
}

func (h *httpPeer) kill() { h.stop() }

func (p *process) events() *httpPeer {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	h := &httpPeer{inbox: newInbox(p.t), p: p, stop: cancel}
	path := "/api/v1/agents/connect"
	req, err := http.NewRequestWithContext(ctx, "GET", p.server.URL+path, nil)
	p.must(err)
	req.Header.Set("Authorization", p.sign("GET", path, nil))
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	p.must(err)
	if resp.StatusCode != http.StatusOK {
		p.t.Fatalf("events: %d", resp.StatusCode)
	}
	go func() { // ends with the stream
		defer resp.Body.Close()
		scan := bufio.NewScanner(resp.Body)
		scan.Buffer(nil, 8<<20)
		for scan.Scan() {
			if data, ok := strings.CutPrefix(scan.Text(), "data: "); ok {
				h.fill([]byte(data))
			}
		}
	}()
	p.t.Cleanup(cancel)
	hello := expect(p.t, h, beeos.FrameHello)
	h.conn = hello.ConnectionID
	h.frames <- hello
	return h
}

// poll polls once.
func (p *process) poll(conn, wait string) (status int, frames []byte) {
	p.t.Helper()
	path := "/api/v1/agents/poll?wait=" + wait + "&connection=" + conn
	req, err := http.NewRequestWithContext(p.ctx, "GET", p.server.URL+path, nil)
	p.must(err)
	req.Header.Set("Authorization", p.sign("GET", path, nil))
	resp, err := http.DefaultClient.Do(req)
	p.must(err)
	defer resp.Body.Close()
	frames, err = io.ReadAll(resp.Body)
	p.must(err)
	return resp.StatusCode, frames
}

// pollPeer polls whenever a frame is wanted.
type pollPeer struct{ httpPeer }

func (p *process) polling() *pollPeer {
	p.t.Helper()
	h := &pollPeer{httpPeer{inbox: newInbox(p.t), p: p, stop: func() {}}}
	status, frames := p.poll("", "5s")
	if status != http.StatusOK {
		p.t.Fatalf("poll: %d %s", status, frames)
	}
	h.fill(frames)
	hello := expect(p.t, h, beeos.FrameHello)
	h.conn = hello.ConnectionID
	h.frames <- hello
	return h
}

func (h *pollPeer) next() beeos.Frame {
	h.p.t.Helper()
	for range 5 {
		select {
		case f := <-h.frames:
			return f
		default:
		}
		if status, frames := h.p.poll(h.conn, "5s"); status == http.StatusOK {
			h.fill(frames)
		}
	}
	h.p.t.Fatal("no frame came")
	return beeos.Frame{}
}

// call is a request of the owner's to an agent, with its outcome.
type call struct {
	events []beeos.Event
	reply  *beeos.Message
	err    error
}

// ask starts a call and returns how to wait for its end.
func (s *stack) ask(agentID, body string, change ...func(*invoke.Request)) (wait func() call) {
	s.t.Helper()
	a, err := s.db.Agents.Get(s.ctx, agentID)
	s.must(err)
	r := invoke.Request{
		Caller: beeos.Caller{Kind: beeos.ByUserKey, UserID: s.owner.ID, CredentialID: "key_owner"},
		Agent:  a, Surface: "rest", Body: body, Live: true,
	}
	for _, f := range change {
		f(&r)
	}
	done := make(chan call, 1)
	go func() { // ends with the call
		var c call
		for ev, err := range s.calls.Do(s.ctx, &r) {
			if err != nil {
				c.err = err
			} else if ev.Message != nil {
				c.reply = ev.Message
			} else {
				c.events = append(c.events, ev)
			}
		}
		done <- c
	}()
	return func() call {
		s.t.Helper()
		select {
		case c := <-done:
			return c
		case <-time.After(20 * time.Second):
			s.t.Fatal("the call never ended")
			return call{}
		}
	}
}
