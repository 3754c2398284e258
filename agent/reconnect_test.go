package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
)

// TestReconnectQuietly: a gateway that restarts and says so is no trouble, one
// that is just gone is.
func TestReconnectQuietly(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(*websocket.Conn)
		warns bool
	}{
		"restarts": {func(ws *websocket.Conn) { ws.Close(websocket.StatusServiceRestart, "the gateway is restarting") }, false},
		"breaks":   {func(ws *websocket.Conn) { ws.CloseNow() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			var log bytes.Buffer
			o := g.options()
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			conn, stop := g.start(o, func(_ context.Context, m Message, r *Reply) error { return r.Send(m.Text) })
			c.leave(conn.ws)
			g.next()
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if warned := log.Len() > 0; warned != c.warns {
				t.Errorf("warned %v: %s", warned, log.String())
			}
		})
	}
}

// TestReconnect: a broken connection costs neither a running handler nor an
// answer.
func TestReconnect(t *testing.T) {
	g := newFakeGateway(t)
	finish := make(chan struct{})
	runs := make(chan string, 10)
	conn, _ := g.start(g.options(), func(ctx context.Context, m Message, r *Reply) error {
		runs <- m.ID
		if m.ID == "slow" {
			r.Delta("half") //nolint:errcheck // as an author would
			<-finish
			return r.Send(" and half")
		}
		return r.Send("quick")
	})
	conn.message("slow", "", beeos.Call{})
	conn.expect(beeos.FrameDelta)
	conn.message("quick", "", beeos.Call{})
	conn.expect(beeos.FrameReply) // and no acknowledgement
	conn.ws.CloseNow()

	conn = g.next()
	if f := conn.expect(beeos.FrameReply); f.MessageID != "quick" || f.Body != "quick" {
		t.Errorf("resent: %s", encode(f))
	}
	conn.ack("quick", beeos.MessageTerminal) // it had arrived after all
	if f := conn.expect(beeos.FrameWorking); f.MessageID != "slow" {
		t.Errorf("still on: %s", encode(f))
	}
	conn.send(beeos.Frame{Type: beeos.FrameWorking, MessageID: "slow"}) // it may go on
	if f := conn.expect(beeos.FrameDelta); f.Text != "half" || f.Reason != "replay" {
		t.Errorf("replayed: %s", encode(f))
	}
	// The gateway gives the slow one out again; it is still being worked on.
	conn.message("slow", "", beeos.Call{})
	if f := conn.expect(beeos.FrameDelta); f.Text != "half" || f.Reason != "replay" {
		t.Errorf("replayed: %s", encode(f))
	}
	finish <- struct{}{}
	if f := conn.expect(beeos.FrameReply); f.MessageID != "slow" || f.Body != "half and half" {
		t.Errorf("reply: %s", encode(f))
	}
	conn.ack("slow", "")
	conn.message("slow", "", beeos.Call{}) // handed out once more, too late
	if f := conn.expect(beeos.FrameReply); f.MessageID != "slow" || f.Body != "" {
		t.Errorf("reply: %s", encode(f))
	}
	conn.ack("slow", beeos.MessageTerminal)
	if len(runs) != 2 {
		t.Errorf("%d runs for 2 messages", len(runs))
	}
	if len(g.joins) != 1 || len(g.syncs) != 1 {
		t.Errorf("%d joins and %d syncs, want one each", len(g.joins), len(g.syncs))
	}
}

// TestRetry: an answer that the gateway cannot store now is brought again; one
// that it never will becomes an error.
func TestRetry(t *testing.T) {
	g := newFakeGateway(t)
	conn, _ := g.start(g.options(), echo)
	conn.message("m1", "hi", beeos.Call{})
	conn.expect(beeos.FrameDelta)
	for range 2 {
		if f := conn.expect(beeos.FrameReply); f.Body != "you said: hi" {
			t.Errorf("got %s", encode(f))
		}
		conn.ack("m1", beeos.AgentServiceUnavailable)
	}
	conn.expect(beeos.FrameReply)
	conn.ack("m1", beeos.PayloadTooLarge)
	if f := conn.expect(beeos.FrameReply); !f.IsError || !strings.Contains(f.Body, "because") {
		t.Errorf("got %s", encode(f))
	}
	conn.ack("m1", beeos.NotFound) // that is that
	conn.message("m2", "hi", beeos.Call{})
	conn.expect(beeos.FrameDelta)
	conn.expect(beeos.FrameReply)
	conn.ack("m2", "")
}

func TestDrain(t *testing.T) {
	g := newFakeGateway(t)
	finish := make(chan struct{})
	started := make(chan struct{}, 1)
	conn, stop := g.start(g.options(), func(ctx context.Context, _ Message, r *Reply) error {
		started <- struct{}{}
		<-finish
		return errors.Join(ctx.Err(), r.Send("my last"))
	})
	conn.message("m1", "hi", beeos.Call{})
	<-started
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }() // awaited below
	conn.expect(beeos.FrameDrain)
	conn.message("m2", "too late", beeos.Call{})
	close(finish)
	if f := conn.expect(beeos.FrameReply); f.MessageID != "m1" || f.Body != "my last" {
		t.Errorf("got %s", encode(f))
	}
	select {
	case <-stopped:
		t.Error("it went before its answer was acknowledged")
	case <-time.After(20 * time.Millisecond):
	}
	conn.ack("m1", "")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if f, ok := <-conn.frames; ok {
		t.Errorf("one more frame: %s", encode(f))
	}
}

// TestWiped: the gateway has forgotten everybody; the agent joins again, and
// says so once.
func TestWiped(t *testing.T) {
	g := newFakeGateway(t)
	var log bytes.Buffer
	o := g.options()
	o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	conn, stop := g.start(o, echo)
	g.wipe()
	conn.ws.CloseNow()
	conn = g.next()
	conn.message("m1", "hi", beeos.Call{})
	conn.expect(beeos.FrameDelta)
	conn.expect(beeos.FrameReply)
	conn.ack("m1", "")
	if len(g.joins) != 2 || len(g.syncs) != 2 {
		t.Errorf("%d joins and %d syncs, want two each", len(g.joins), len(g.syncs))
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "does not know this identity"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
}

// TestIdentity: made once, for its user's eyes only, and used again.
func TestIdentity(t *testing.T) {
	g := newFakeGateway(t)
	o := g.options()
	for range 2 {
		_, stop := g.start(o, echo)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.joins) != 1 {
		t.Errorf("%d joins, want 1", len(g.joins))
	}
	info, err := os.Stat(o.Identity)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(o.Identity, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), o, echo); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a broken identity: %v", err)
	}
}

// TestSettings: where to, and with what.
func TestSettings(t *testing.T) {
	g, other := newFakeGateway(t), newFakeGateway(t)
	for _, c := range []struct {
		name    string
		set     func(t *testing.T, home string, o *Options)
		joined  string // with which credential at g; empty = an error
		message string
	}{
		{"nothing", func(*testing.T, string, *Options) {}, "", "run `beeos dev` here"},
		{"key", func(_ *testing.T, _ string, o *Options) { o.Key = "oag_1" }, "oag_1", ""},
		{"key in the environment", func(t *testing.T, _ string, _ *Options) { t.Setenv("BEEOS_KEY", "oag_2") }, "oag_2", ""},
		{"token", func(_ *testing.T, _ string, o *Options) { o.JoinToken = "bjt_1" }, "bjt_1", ""},
		{"token in the environment", func(t *testing.T, _ string, _ *Options) { t.Setenv("BEEOS_JOIN_TOKEN", "bjt_2") }, "bjt_2", ""},
		{"dev.json", func(t *testing.T, home string, _ *Options) { writeDev(t, home, g.server.URL, "oag_dev") }, "oag_dev", ""},
		{"dev.json names the gateway", func(t *testing.T, home string, o *Options) {
			o.Gateway = ""
			writeDev(t, home, strings.Replace(g.server.URL, "127.0.0.1", "localhost", 1), "oag_dev2")
		}, "oag_dev2", ""},
		{"dev.json of another", func(t *testing.T, home string, _ *Options) { writeDev(t, home, other.server.URL, "oag_secret") }, "", "nothing to join"},
		{"not an address", func(_ *testing.T, _ string, o *Options) { o.Gateway = "localhost:8083" }, "", "AGENT_GATEWAY_URL"},
		{"no name", func(_ *testing.T, _ string, o *Options) { o.Name = "" }, "", "name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := isolate(t)
			o := Options{Name: "echo", Gateway: g.server.URL}
			c.set(t, home, &o)
			if c.joined == "" {
				if err := Run(t.Context(), o, echo); err == nil || !strings.Contains(err.Error(), c.message) {
					t.Errorf("got %v, want %q", err, c.message)
				}
				return
			}
			_, stop := g.start(o, echo)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if got := g.joins[len(g.joins)-1]; got != c.joined {
				t.Errorf("joined with %q, want %q", got, c.joined)
			}
		})
	}
	if len(other.joins) > 0 {
		t.Errorf("a key went to a stranger: %v", other.joins)
	}
}

// TestRefusals: what trying again cannot mend ends Run with a reason.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		path string
		err  *beeos.Error
		want string
	}{
		{"/api/v1/agents/join", beeos.Errorf(beeos.InvalidToken, "this key is unknown"), "this key is unknown"},
		{"/api/v1/agents/sync", beeos.Errorf(beeos.Conflict, "the delivery mode cannot change"), "the delivery mode cannot change"},
		{"/api/v1/agents/sync", beeos.Errorf(beeos.InvalidToken, "60 s off"), "clock"},
	} {
		g := newFakeGateway(t)
		g.refuses(c.path, c.err)
		if err := Run(t.Context(), g.options(), echo); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "echo") {
			t.Errorf("%s: got %v, want %q", c.path, err, c.want)
		}
	}
}

// TestPatience: the gateway may come up later than the agent.
func TestPatience(t *testing.T) {
	g := newFakeGateway(t)
	g.refuses("/api/v1/agents/join", beeos.Errorf(beeos.AgentServiceUnavailable, "in a moment"))
	lift := time.AfterFunc(50*time.Millisecond, func() { g.refuses("/api/v1/agents/join", nil) })
	defer lift.Stop()
	g.start(g.options(), echo)
}
