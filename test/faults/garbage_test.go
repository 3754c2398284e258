package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
)

// socket is a WebSocket of a raw agent's.
type socket struct {
	t      *testing.T
	ctx    context.Context
	ws     *websocket.Conn
	frames chan beeos.Frame // closed when the gateway has closed the socket
}

// dial connects a raw agent by WebSocket.
func (a *rawAgent) dial(ctx context.Context, t *testing.T, n *node) *socket {
	t.Helper()
	const path = "/api/v1/agents/connect"
	ws, _, err := websocket.Dial(ctx, n.agents+path, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {beeos.Sign(a.key, a.instance, http.MethodGet, path, nil)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	s := &socket{t: t, ctx: ctx, ws: ws, frames: make(chan beeos.Frame, 1000)}
	go func() { // ends with the socket
		defer close(s.frames)
		for {
			_, data, err := ws.Read(context.Background())
			if err != nil {
				return
			}
			for _, f := range frames(data) {
				s.frames <- f
			}
		}
	}()
	t.Cleanup(func() { ws.CloseNow() }) //nolint:errcheck // it is over either way
	s.await(beeos.FrameHello)
	return s
}

// await returns the next frame of a type.
func (s *socket) await(want beeos.FrameType) beeos.Frame {
	s.t.Helper()
	for {
		select {
		case f, ok := <-s.frames:
			if !ok {
				s.t.Fatalf("the socket was closed before a %s", want)
			}
			if f.Type == want {
				return f
			}
		case <-s.ctx.Done():
			s.t.Fatalf("no %s came", want)
		}
	}
}

// closed waits for the gateway to close the socket.
func (s *socket) closed() {
	s.t.Helper()
	for {
		select {
		case _, ok := <-s.frames:
			if !ok {
				return
			}
		case <-s.ctx.Done():
			s.t.Fatal("the gateway keeps the socket open")
		}
	}
}

// say sends text as it is; the gateway may be gone by its end.
func (s *socket) say(text []byte) {
	s.ws.Write(s.ctx, websocket.MessageText, text) //nolint:errcheck // as said
}

// TestAgentTalksGarbage: an agent answers a call with everything but an
// answer. It is told what was wrong with it, the call is not hurt, and neither
// is the server.
func TestAgentTalksGarbage(t *testing.T) {
	n := newNode(t, "server")
	key := n.owner()
	n.start()
	raw := registerRaw(t, n, key, "babbler")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	s := raw.dial(ctx, t, n)
	c := newCaller(t, n, raw.id, key, 1)
	for name, e := range eras {
		t.Run(name, func(t *testing.T) {
			s.t = t
			answer := make(chan error, 1)
			go func() {
				got, err := c.ask(ctx, e, "the id", "go on", "")
				if err == nil && got != "a real answer" {
					err = fmt.Errorf("answered %q", got)
				}
				answer <- err
			}()
			turn := s.await(beeos.FrameMessage).MessageID
			s.babble(turn)
			select {
			case err := <-answer:
				t.Fatalf("the call ended by garbage: %v", err)
			default:
			}
			reply := fmt.Appendf(nil, `{"type":"reply","message_id":%q,"body":"a real answer"}`, turn)
			s.say(bytes.Join([][]byte{reply, reply}, []byte("\n"))) // twice
			refused := 0
			for range 2 {
				if f := s.await(beeos.FrameAck); f.Error != nil {
					refused++
				}
			}
			if err := <-answer; err != nil || refused != 1 {
				t.Errorf("the caller hears %v, %d of two replies were refused", err, refused)
			}
		})
	}
	t.Run("far too much", func(t *testing.T) { testFlood(ctx, t, n, raw, c, s) })
	n.records().sound(len(eras) + 1)
}

// babble says what no agent should; each line must be complained about.
func (s *socket) babble(turn string) {
	s.t.Helper()
	for what, line := range map[string]string{
		"no JSON":          `{"type":"reply","message_id":"` + turn + `","body":"`,
		"no object":        `[1,2,3]`,
		"a name twice":     `{"type":"reply","type":"error","message_id":"` + turn + `"}`,
		"no UTF-8":         "{\"type\":\"reply\",\"message_id\":\"" + turn + "\",\"body\":\"\xff\"}",
		"wrong kinds":      `{"type":"reply","message_id":7,"body":{}}`,
		"unknown type":     `{"type":"sing","message_id":"` + turn + `"}`,
		"no turn":          `{"type":"reply","body":"whose?"}`,
		"somebody else's":  `{"type":"reply","message_id":"01a1ddda-8ab0-7289-9eae-985d5183f9ff","body":"whose?"}`,
		"too large a line": `{"type":"reply","message_id":"` + turn + `","body":"` + strings.Repeat("x", 2<<20) + `"}`,
	} {
		s.say([]byte(line))
		for {
			f, ok := <-s.frames
			if !ok {
				s.t.Fatalf("%s: the socket was closed", what)
			}
			if f.Error != nil {
				s.t.Logf("%s: %s", what, f.Error.Code)
				break
			}
		}
	}
}

// testFlood: a frame of 50 MB costs the agent its connection, and the server
// next to nothing. The call goes to the agent's next connection.
func testFlood(ctx context.Context, t *testing.T, n *node, raw *rawAgent, c *caller, s *socket) {
	answer := make(chan error, 1)
	go func() {
		got, err := c.ask(ctx, eras["2026-07-28"], "the id", "go on", "")
		if err == nil && got != "at last" {
			err = fmt.Errorf("answered %q", got)
		}
		answer <- err
	}()
	s.t = t
	turn := s.await(beeos.FrameMessage).MessageID
	before := n.proc.memory(t)
	flood := fmt.Appendf(nil, `{"type":"reply","message_id":%q,"body":"%s"}`, turn, bytes.Repeat([]byte("x"), 50<<20))
	for attempt := 1; attempt <= 3; attempt++ {
		s.say(flood)
		s.closed()
		s = raw.dial(ctx, t, n)
		if f := s.await(beeos.FrameMessage); f.MessageID != turn || f.Attempt != attempt+1 {
			t.Errorf("handed out again: %s, attempt %d", f.MessageID, f.Attempt)
		}
	}
	limit := int64(64 << 20)
	if raceEnabled { // whose shadow is larger than what throws it, also of what the collector lets pile up
		limit *= 3
	}
	if grown := n.proc.memory(t) - before; grown > limit {
		t.Errorf("the server's memory has grown by %d MB over 150 MB of garbage", grown>>20)
	} else {
		t.Logf("the server's memory has grown by %d KB over 150 MB of garbage", grown>>10)
	}
	s.say(fmt.Appendf(nil, `{"type":"reply","message_id":%q,"body":"at last"}`, turn))
	if err := <-answer; err != nil {
		t.Errorf("the caller hears %v", err)
	}
}

// memory is the most memory that a process ever had; where the system does
// not tell it is nothing.
func (p *process) memory(t *testing.T) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
