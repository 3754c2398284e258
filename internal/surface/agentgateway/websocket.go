package agentgateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
)

// missesAllowed is how many pings may stay unanswered.
const missesAllowed = 1

// socket is the WebSocket transport of a connection. Its reader is a goroutine
// of its own, so that the request and all that hangs on it can be forgotten; a
// writer exists only while there is something to write, and a ping only while
// it is on its way.
type socket struct {
	g     *Gateway
	c     *link.Connection // nil until ready
	ws    *websocket.Conn  // nil until ready, and when there was no handshake
	ready chan struct{}
	heard atomic.Bool // since the last tick
	timer *time.Timer
}

func (g *Gateway) serveWebSocket(w http.ResponseWriter, r *http.Request, inst beeos.Instance) error {
	// Opened before the handshake, so that a refusal is an ordinary answer;
	// what is queued meanwhile waits for ready.
	s := &socket{g: g, ready: make(chan struct{})}
	defer close(s.ready)
	c, err := g.open(r, inst, s)
	if err != nil {
		return err
	}
	s.c = c
	s.ws, err = websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		c.Close()
		g.Log.WarnContext(r.Context(), "no WebSocket", "instance", inst.ID, "err", err)
		return nil // Accept has answered
	}
	s.ws.SetReadLimit(link.MaxInbound)
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Reset(g.Heartbeat) // tick must find the timer
	g.hub.Go(s.read)
	return nil
}

// Wake writes what is queued.
func (s *socket) Wake() { s.g.hub.Go(s.write) }

// read acts on messages until the socket closes.
func (s *socket) read() {
	defer s.c.Close()
	defer s.ws.CloseNow() //nolint:errcheck // it is over either way
	defer s.timer.Stop()
	err := s.readMessages()
	s.g.Log.Info("agent disconnected", "instance", s.c.Instance, "reason", farewell(err))
}

// readMessages holds no buffer while it waits.
func (s *socket) readMessages() error {
	for {
		// A context that cannot end costs nothing per read; shut and tick close
		// the socket instead.
		_, r, err := s.ws.Reader(context.Background())
		if err != nil {
			return err
		}
		buf, err := readAll(r, link.TakeBuffer())
		if err != nil {
			return err
		}
		s.heard.Store(true)
		s.c.Receive(buf, &s.c.Replies)
		link.PutBuffer(buf)
	}
}

// farewell is what the agent said when it left; without that, what broke.
func farewell(err error) string {
	if bye, ok := errors.AsType[websocket.CloseError](err); ok && bye.Reason != "" {
		return bye.Reason
	}
	return err.Error()
}

func readAll(r io.Reader, buf []byte) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// write writes what is queued, all that has gathered in one message, until
// nothing is left. A socket that does not take it is closed by tick.
func (s *socket) write() {
	if <-s.ready; s.ws == nil {
		return // nobody will ever take it
	}
	for out := s.c.Take(); out != nil; out = s.c.Take() {
		if s.ws.Write(context.Background(), websocket.MessageText, out) != nil {
			return // the reader notices and closes the connection
		}
		link.PutBuffer(out)
	}
}

// tick runs every heartbeat. An agent that said nothing meanwhile is pinged,
// and given up when it misses two pings.
func (s *socket) tick() {
	for misses := 0; !s.heard.Swap(false); misses++ {
		ctx, cancel := context.WithTimeout(context.Background(), s.g.Heartbeat)
		err := s.ws.Ping(ctx)
		late := ctx.Err() != nil
		cancel()
		if err == nil {
			break
		}
		if !late || misses >= missesAllowed {
			s.ws.CloseNow() //nolint:errcheck // it is dead
			return
		}
	}
	if !s.c.IsClosed() {
		s.timer.Reset(s.g.Heartbeat)
	}
}

// Shut ends the socket from our side.
func (s *socket) Shut(reason string) {
	s.g.hub.Go(func() {
		if <-s.ready; s.ws != nil {
			s.ws.Close(websocket.StatusServiceRestart, reason) //nolint:errcheck // it is over either way
		}
	})
}
