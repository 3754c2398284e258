package agentgateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
)

const (
	missesAllowed = 1                // how many pings may stay unanswered
	messageTime   = 60 * time.Second // for a message that has begun to be there
	goodbyeTime   = 250 * time.Millisecond
	maxPings      = 1000 // of the agent's per heartbeat, unless it sends messages as well
)

// socket is the WebSocket transport of a connection. Its reader is a goroutine
// of its own, so that the request and all that hangs on it can be forgotten; a
// writer exists only while there is something to write, and a ping only while
// it is on its way.
type socket struct {
	surface *Surface
	c       *link.Connection // nil until ready
	ws      *websocket.Conn  // nil until ready, and when there was no handshake
	conn    net.Conn         // below it
	ready   chan struct{}
	heard   atomic.Bool  // since the last tick
	begun   atomic.Int64 // when the message that is being read began, in nanoseconds; 0 = there is none
	acting  atomic.Bool  // on a message; meanwhile nothing is read, pongs neither
	pings   atomic.Int32 // since the last message or tick
	probing atomic.Bool  // look is going to run
	timer   *time.Timer
}

func (s *Surface) serveWebSocket(w http.ResponseWriter, r *http.Request, inst beeos.Instance) error {
	// Opened before the handshake, so that a refusal is an ordinary answer;
	// what is queued meanwhile waits for ready.
	sock := &socket{surface: s, ready: make(chan struct{})}
	defer close(sock.ready)
	c, err := s.open(r, inst, sock)
	if err != nil {
		return err
	}
	sock.c = c
	taken := &hijacked{ResponseWriter: w}
	sock.ws, err = websocket.Accept(taken, r, &websocket.AcceptOptions{
		CompressionMode: websocket.CompressionDisabled,
		OnPingReceived:  sock.allowPong,
	})
	if err != nil {
		c.Close()
		s.Log.WarnContext(r.Context(), "no WebSocket", "instance", inst.ID, "err", err)
		return nil // Accept has answered
	}
	sock.conn = taken.conn
	sock.ws.SetReadLimit(link.MaxInbound)
	sock.timer = time.AfterFunc(time.Hour, sock.tick)
	sock.timer.Reset(s.Heartbeat) // tick must find the timer
	s.hub.Go(sock.read)
	return nil
}

// hijacked keeps the connection that a WebSocket takes over.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack is http.Hijacker's.
func (h *hijacked) Hijack() (conn net.Conn, rw *bufio.ReadWriter, err error) {
	h.conn, rw, err = http.NewResponseController(h.ResponseWriter).Hijack()
	return h.conn, rw, err
}

// Wake writes what is queued.
func (s *socket) Wake() { s.surface.hub.Go(s.write) }

// read acts on messages until the socket closes.
func (s *socket) read() {
	defer s.c.Close()
	defer s.ws.CloseNow() //nolint:errcheck // it is over either way
	defer s.timer.Stop()
	err := s.readMessages()
	if errors.Is(err, websocket.ErrMessageTooBig) { // it may come back, and not again and again
		s.surface.pace.charge(s.c.Instance, paceTooLong, s.surface.Now())
	}
	s.surface.Log.Info("agent disconnected", "instance", s.c.Instance, "reason", farewell(err))
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
		s.begun.Store(time.Now().UnixNano())
		buf := bytes.NewBuffer(link.TakeBuffer())
		if _, err := buf.ReadFrom(r); err != nil {
			return err
		}
		s.acting.Store(true)
		s.begun.Store(0)
		s.heard.Store(true)
		s.c.NoteLife()
		s.pings.Store(0)
		s.c.Receive(buf.Bytes(), &s.c.Replies)
		s.acting.Store(false)
		link.PutBuffer(buf.Bytes())
	}
}

// allowPong lets an agent's ping be answered. The reader calls it; one that does
// nothing but ping is left.
func (s *socket) allowPong(context.Context, []byte) bool {
	n := s.pings.Add(1)
	if n == maxPings+1 {
		s.surface.hub.Offended(s.c.Instance)
		s.surface.hub.Go(func() { s.ws.CloseNow() }) //nolint:errcheck // it is over either way; not here, it waits for the reader
	}
	return n <= maxPings
}

// farewell is what the agent said when it left; without that, what broke.
func farewell(err error) string {
	if bye, ok := errors.AsType[websocket.CloseError](err); ok && bye.Reason != "" {
		return bye.Reason
	}
	return err.Error()
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
// and given up when it misses two pings, or never ends a message.
func (s *socket) tick() {
	s.pings.Store(0)
	if begun := s.begun.Load(); begun > 0 && time.Since(time.Unix(0, begun)) > messageTime {
		s.ws.CloseNow() //nolint:errcheck // it is over either way
		return
	}
	for misses := 0; !s.heard.Swap(false) && !s.acting.Load(); misses++ {
		ctx, cancel := context.WithTimeout(context.Background(), s.surface.Heartbeat)
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
		s.timer.Reset(s.surface.Heartbeat)
	}
}

// probeAfter is how long an agent that was given work may say nothing before it is
// asked whether it runs.
const probeAfter = time.Second

// Probe sees to it that an agent that was given work and does not run is known to be
// overdue, and that any other is not.
func (s *socket) Probe() {
	if s.probing.CompareAndSwap(false, true) {
		time.AfterFunc(probeAfter, s.look)
	}
}

// look asks an agent for a sign of life that it owes. One that gives none stays
// overdue; that it is dead is for tick to find.
func (s *socket) look() {
	waited := s.c.AwaitsLife()
	switch {
	case waited == 0 || s.c.IsClosed():
		if s.probing.Store(false); s.c.AwaitsLife() > 0 && !s.c.IsClosed() { // something came this moment
			s.Probe()
		}
		return
	case waited < probeAfter:
		time.AfterFunc(probeAfter-waited, s.look)
		return
	case s.acting.Load(): // it is we who do not read
		s.c.NoteLife()
	default:
		s.ask()
	}
	time.AfterFunc(probeAfter, s.look)
}

func (s *socket) ask() {
	if <-s.ready; s.ws == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.surface.Heartbeat)
	defer cancel()
	if s.ws.Ping(ctx) == nil {
		s.heard.Store(true)
		s.c.NoteLife()
	}
}

// Shut ends the socket from our side.
func (s *socket) Shut(reason string) {
	s.surface.hub.Go(func() {
		if <-s.ready; s.ws != nil {
			// Close looks for the agent's goodbye behind all that it still sends,
			// byte by byte: not for long.
			s.conn.SetReadDeadline(time.Now().Add(goodbyeTime)) //nolint:errcheck // it is over either way
			s.ws.Close(websocket.StatusServiceRestart, reason)  //nolint:errcheck // as above
		}
	})
}
