package agent_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// stage is the gateway of a transcript, and the agent that talks to it.
type stage struct {
	t      *testing.T
	now    string // where in the transcript it is
	server *httptest.Server
	heard  chan event
	names  map[string]any
	public ed25519.PublicKey // of the instance that joined
	socket *websocket.Conn
	stop   func()
	end    chan error
	ended  bool

	mu    sync.Mutex
	gates map[string]*gate
}

// gate is where a handler waits until the transcript lets it go on.
type gate struct{ reached, released chan struct{} }

// event is a frame of the agent's, or a request, which waits for its answer.
type event struct {
	frame   map[string]any
	request *http.Request
	body    []byte
	answer  chan func(http.ResponseWriter)
}

func (e event) String() string {
	if e.request != nil {
		return fmt.Sprintf("%s %s %.500s", e.request.Method, e.request.RequestURI, e.body)
	}
	text, err := json.Marshal(e.frame)
	return fmt.Sprintf("%.2000s %v", text, err)
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, heard: make(chan event, 1000), names: map[string]any{}, gates: map[string]*gate{}, end: make(chan error, 1)}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the agent is gone
		}
		e := event{request: r, body: body, answer: make(chan func(http.ResponseWriter), 1)}
		s.heard <- e
		select {
		case answer := <-e.answer:
			answer(w)
		case <-r.Context().Done():
		}
	}))
	s.names["$gateway"] = s.server.URL
	t.Cleanup(s.server.Close)
	return s
}

// start runs the fixture.
func (s *stage) start(settings agentSettings) {
	o := agent.Options{
		Name: "fixture", Description: "Plays transcripts.",
		Gateway: s.server.URL, Key: "oag_test", Identity: filepath.Join(s.t.TempDir(), "id.json"),
		Log:         slog.New(slog.NewTextHandler(s.t.Output(), nil)),
		Concurrency: settings.Concurrency, DeliveryMode: beeos.DeliveryMode(settings.DeliveryMode), Lane: beeos.Lane(settings.Lane),
		Redelivery: beeos.Redelivery(settings.Redelivery), Timeout: time.Duration(settings.TimeoutMS) * time.Millisecond,
	}
	s.equip(&o)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.end <- agent.Run(ctx, o, echo) }() // awaited below
	s.t.Cleanup(func() {
		stop()
		if !s.ended {
			<-s.end
		}
	})
}

func (s *stage) awaitEnd() error {
	s.t.Helper()
	select {
	case err := <-s.end:
		s.ended = true
		return err
	case <-time.After(awaitWithin):
		s.t.Fatalf("%s: it does not end", s.now)
		return nil
	}
}

func (s *stage) await(done <-chan struct{}, otherwise string) {
	s.t.Helper()
	select {
	case <-done:
	case <-time.After(awaitWithin):
		s.t.Fatalf("%s: %s", s.now, otherwise)
	}
}

func (s *stage) gate(name string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = &gate{make(chan struct{}), make(chan struct{})}
	}
	return s.gates[name]
}

// next is what the agent does next.
func (s *stage) next() event {
	s.t.Helper()
	select {
	case e := <-s.heard:
		return e
	case err := <-s.end:
		s.ended = true
		s.t.Fatalf("%s: it ended instead: %v", s.now, err)
	case <-time.After(awaitWithin):
		s.t.Fatalf("%s: nothing came", s.now)
	}
	return event{}
}

func (s *stage) expectRequest(want *exchange) {
	s.t.Helper()
	e := s.next()
	if e.request == nil || e.request.Method != want.Method || e.request.RequestURI != want.Path {
		s.t.Fatalf("%s: got %s\nwant %s %s", s.now, e, want.Method, want.Path)
	}
	if text, ok := want.Body.(string); ok && text != string(e.body) {
		s.t.Fatalf("%s: body %q, want %q", s.now, e.body, text)
	} else if !ok && want.Body != nil {
		var got any
		if err := json.Unmarshal(e.body, &got); err != nil || !s.matches(want.Body, got, true) {
			s.t.Fatalf("%s: body %s\nwant %s", s.now, e.body, encode(s.t, want.Body))
		}
	}
	for name, value := range want.Headers {
		if got := e.request.Header.Get(name); got != value {
			s.t.Errorf("%s: %s is %q", s.now, name, got)
		}
	}
	s.checkCredential(e, want.Authorization)
	e.answer <- func(w http.ResponseWriter) {
		w.WriteHeader(max(want.Status, http.StatusOK))
		if text, ok := want.Answer.(string); ok {
			io.WriteString(w, text)
		} else {
			w.Write(encode(s.t, s.resolve(want.Answer)))
		}
	}
}

// checkCredential wants a signature by the key that joined, or what is given.
func (s *stage) checkCredential(e event, want *string) {
	s.t.Helper()
	sent := e.request.Header.Get("Authorization")
	if want != nil {
		if sent != *want {
			s.t.Errorf("%s: Authorization is %q", s.now, sent)
		}
		s.noteKey(e.body)
		return
	}
	sig, ok := beeos.ParseSignature(sent)
	if !ok || !sig.Verify(s.public, e.request.Method, e.request.RequestURI, e.body) {
		s.t.Errorf("%s: not signed by who joined: %q", s.now, sent)
	}
}

func (s *stage) noteKey(body []byte) {
	var joined struct {
		Key []byte `json:"public_key"`
	}
	if json.Unmarshal(body, &joined) == nil && len(joined.Key) > 0 {
		s.public = joined.Key
	}
}

func (s *stage) expectConnection() {
	s.t.Helper()
	e := s.next()
	if e.request == nil || e.request.RequestURI != "/api/v1/agents/connect?agents=fixture" {
		s.t.Fatalf("%s: it does not connect: %s", s.now, e)
	}
	s.checkCredential(e, nil)
	connected := make(chan struct{})
	e.answer <- func(w http.ResponseWriter) {
		socket, err := websocket.Accept(w, e.request, nil)
		if err != nil {
			s.t.Error(err)
			return
		}
		socket.SetReadLimit(-1)
		s.socket = socket
		close(connected)
		s.listen(socket)
	}
	s.await(connected, "no WebSocket")
}

// listen notes every frame until the connection breaks.
func (s *stage) listen(socket *websocket.Conn) {
	for {
		_, data, err := socket.Read(context.Background())
		if err != nil {
			return
		}
		for line := range bytes.Lines(data) {
			var frame map[string]any
			if err := json.Unmarshal(line, &frame); err != nil {
				s.t.Errorf("frame %q: %v", line, err)
			}
			s.heard <- event{frame: frame}
		}
	}
}

func fromBase64(text string) []byte {
	data, _ := base64.StdEncoding.DecodeString(text)
	return data
}
