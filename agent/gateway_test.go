package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
)

// fakeGateway plays the gateway by hand: a test sees every frame of the agent
// and decides what becomes of it. The real one has its own tests.
type fakeGateway struct {
	t      testing.TB
	server *httptest.Server
	conns  chan *fakeConn // connections as they come

	mu     sync.Mutex
	known  map[string][]byte // instance -> public key
	joins  []string          // bearer or token of each join
	syncs  []beeos.Definition
	refuse map[string]*beeos.Error // path -> error
}

func newFakeGateway(t testing.TB) *fakeGateway {
	g := &fakeGateway{t: t, conns: make(chan *fakeConn, 10), known: map[string][]byte{}, refuse: map[string]*beeos.Error{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/agents/join", g.join)
	mux.HandleFunc("POST /api/v1/agents/sync", g.signed(g.sync))
	mux.HandleFunc("GET /api/v1/agents/connect", g.signed(g.connect))
	mux.HandleFunc("GET /api/v1/agents/channels/{id}/messages", g.signed(g.history))
	g.server = httptest.NewServer(mux)
	t.Cleanup(g.server.Close)
	return g
}

func (g *fakeGateway) fail(w http.ResponseWriter, code beeos.Code, message string) {
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"success":false,"error":{"code":%q,"message":%q}}`, code, message)
}

// refuses sets, or with nil lifts, the error that a path answers with.
func (g *fakeGateway) refuses(path string, err *beeos.Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse[path] = err
}

// wipe forgets everyone, as when the data folder was deleted.
func (g *fakeGateway) wipe() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.known)
}

func (g *fakeGateway) join(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token     string `json:"token"`
		PublicKey []byte `json:"public_key"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		g.t.Error(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.refuse[r.URL.Path]; e != nil {
		g.fail(w, e.Code, e.Message)
		return
	}
	g.joins = append(g.joins, body.Token+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	id := fmt.Sprint("inst_", len(g.joins))
	g.known[id] = body.PublicKey
	fmt.Fprintf(w, `{"success":true,"data":{"instance_id":%q,"key_id":%q}}`, id, id)
}

func (g *fakeGateway) signed(next func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sig, ok := beeos.ParseSignature(r.Header.Get("Authorization"))
		g.mu.Lock()
		key, refuse := g.known[sig.KeyID], g.refuse[r.URL.Path]
		g.mu.Unlock()
		switch {
		case !ok || !sig.Verify(key, r.Method, r.URL.RequestURI(), body):
			g.fail(w, beeos.InvalidToken, "unknown instance")
		case refuse != nil:
			g.fail(w, refuse.Code, refuse.Message)
		default:
			next(w, r, body)
		}
	}
}

func (g *fakeGateway) sync(w http.ResponseWriter, _ *http.Request, body []byte) {
	var in struct {
		Agents []beeos.Definition `json:"agents"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		g.t.Error(err)
	}
	g.mu.Lock()
	g.syncs = append(g.syncs, in.Agents...)
	g.mu.Unlock()
	fmt.Fprint(w, `{"success":true,"data":{}}`)
}

func (g *fakeGateway) history(w http.ResponseWriter, r *http.Request, _ []byte) {
	since := r.URL.Query().Get("since")
	fmt.Fprintf(w, `{"success":true,"data":{"messages":[{"message_id":"m","offset":%s1,"body":"after %s"}],"has_more":%v}}`, strings.TrimLeft(since, "0"), since, since == "0")
}

// fakeConn is the gateway's end of one WebSocket.
type fakeConn struct {
	t      testing.TB
	ws     *websocket.Conn
	frames chan beeos.Frame
}

func (g *fakeGateway) connect(w http.ResponseWriter, r *http.Request, _ []byte) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		g.t.Error(err)
		return
	}
	ws.SetReadLimit(-1)
	c := &fakeConn{t: g.t, ws: ws, frames: make(chan beeos.Frame, 10_000)}
	c.send(beeos.Frame{Type: beeos.FrameHello, ConnectionID: "c", Agents: map[string]string{r.URL.Query().Get("agents"): "agent_1"}, HeartbeatMS: 10_000})
	g.conns <- c
	defer close(c.frames)
	for {
		_, data, err := ws.Read(context.Background())
		if err != nil {
			return
		}
		for line := range bytes.Lines(data) {
			var f beeos.Frame
			if err := json.Unmarshal(line, &f); err != nil {
				g.t.Errorf("frame %q: %v", line, err)
			}
			c.frames <- f
		}
	}
}

// next waits for the agent to connect.
func (g *fakeGateway) next() *fakeConn {
	g.t.Helper()
	select {
	case c := <-g.conns:
		return c
	case <-time.After(10 * time.Second):
		g.t.Fatal("the agent does not connect")
		return nil
	}
}

func (c *fakeConn) send(frames ...beeos.Frame) {
	c.t.Helper()
	var b []byte
	for _, f := range frames {
		b = append(append(b, encode(f)...), '\n')
	}
	if err := c.ws.Write(context.Background(), websocket.MessageText, b); err != nil {
		c.t.Error(err)
	}
}

// expect returns the next frame, which must be of the type.
func (c *fakeConn) expect(want beeos.FrameType) beeos.Frame {
	c.t.Helper()
	select {
	case f, ok := <-c.frames:
		if !ok || f.Type != want {
			c.t.Fatalf("got %s, want %s", encode(f), want)
		}
		return f
	case <-time.After(30 * time.Second):
		c.t.Fatalf("no %s came", want)
		return beeos.Frame{}
	}
}

// message sends a chat_message.
func (c *fakeConn) message(id, text string, call beeos.Call) {
	c.t.Helper()
	payload, err := json.Marshal(call)
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(beeos.Frame{Type: beeos.FrameMessage, MessageID: id, ChannelID: "ch-1", AgentID: "agent_1", Body: text, Payload: payload, Attempt: 1})
}

// ack acknowledges a reply; a code refuses it.
func (c *fakeConn) ack(id string, code beeos.Code) {
	c.t.Helper()
	f := beeos.Frame{Type: beeos.FrameAck, MessageID: id, Offset: 2}
	if code != "" {
		f.Error = &beeos.FrameFault{Code: string(code), Message: "because"}
	}
	c.send(f)
}

// options serves an agent at g, with an identity of the test's own.
func (g *fakeGateway) options() Options {
	return Options{
		Name: "echo", Gateway: g.server.URL, Key: "oag_test", Identity: filepath.Join(g.t.TempDir(), "id.json"),
		Log: slog.New(slog.NewTextHandler(g.t.Output(), nil)),
	}
}

// start runs an agent until the test ends; stop ends it before.
func (g *fakeGateway) start(o Options, h Handler) (conn *fakeConn, stop func() error) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, o, h) }() // awaited by stop
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	g.t.Cleanup(func() {
		if err := stop(); err != nil {
			g.t.Error(err)
		}
	})
	return g.next(), stop
}

// isolate keeps a test away from the environment of who runs it.
func isolate(t *testing.T) (home string) {
	home = t.TempDir()
	for _, name := range []string{"AGENT_GATEWAY_URL", "BEEOS_KEY", "BEEOS_JOIN_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	t.Setenv("BEEOS_DATA", filepath.Join(home, "data"))
	return home
}

func writeDev(t *testing.T, home, gateway, key string) {
	t.Helper()
	folder := filepath.Join(home, "data")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"web":"http://localhost:3000","agents":%q,"user_key":%q}`, gateway, key)
	if err := os.WriteFile(filepath.Join(folder, "dev.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
