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
)

// missesAllowed is how many pings may stay unanswered.
const missesAllowed = 1

// socket is the WebSocket transport of a connection. Its reader is a goroutine
// of its own, so that the request and all that hangs on it can be forgotten; a
// writer exists only while there is something to write, and a ping only while
// it is on its way.
type socket struct {
	ws    *websocket.Conn // nil until ready, and when there was no handshake
	c     *connection
	ready chan struct{}
	heard atomic.Bool // since the last tick
	timer *time.Timer
}

func (g *Gateway) serveWebSocket(w http.ResponseWriter, r *http.Request, inst beeos.Instance) error {
	// Opened before the handshake, so that a refusal is an ordinary answer;
	// what is queued meanwhile waits for ready.
	s := &socket{ready: make(chan struct{})}
	c, err := g.open(r, inst, s.carry)
	if err != nil {
		return err
	}
	s.ws, err = websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	close(s.ready)
	if err != nil {
		c.close()
		g.Log.WarnContext(r.Context(), "no WebSocket", "instance", inst.ID, "err", err)
		return nil // Accept has answered
	}
	s.ws.SetReadLimit(maxInbound)
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Reset(g.Heartbeat) // tick must find the timer
	g.workers.Go(s.read)
	return nil
}

// carry makes s the transport of c.
func (s *socket) carry(c *connection) {
	s.c, c.shut = c, s.shut
	c.wake = func() { c.g.workers.Go(s.write) }
}

// read acts on messages until the socket closes.
func (s *socket) read() {
	defer s.c.close()
	defer s.ws.CloseNow() //nolint:errcheck // it is over either way
	defer s.timer.Stop()
	err := s.readMessages()
	s.c.g.Log.Info("agent disconnected", "instance", s.c.instance, "reason", farewell(err))
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
		buf, err := readAll(r, takeBuffer())
		if err != nil {
			return err
		}
		s.heard.Store(true)
		s.c.receive(buf, &s.c.replies)
		putBuffer(buf)
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
	<-s.ready
	for out := s.c.take(); out != nil; out = s.c.take() {
		if s.ws == nil || s.ws.Write(context.Background(), websocket.MessageText, out) != nil {
			return // the reader notices and closes the connection
		}
		putBuffer(out)
	}
}

// tick runs every heartbeat. An agent that said nothing meanwhile is pinged,
// and given up when it misses two pings.
func (s *socket) tick() {
	for misses := 0; !s.heard.Swap(false); misses++ {
		ctx, cancel := context.WithTimeout(context.Background(), s.c.g.Heartbeat)
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
	if !s.c.isClosed() {
		s.timer.Reset(s.c.g.Heartbeat)
	}
}

// shut ends the socket from our side.
func (s *socket) shut(reason string) {
	s.c.g.workers.Go(func() {
		if <-s.ready; s.ws != nil {
			s.ws.Close(websocket.StatusServiceRestart, reason) //nolint:errcheck // it is over either way
		}
	})
}
