package world

import (
	"io"
	"net"
	"sync"
	"time"
)

// Line is a way from one process to another that can be cut, made slow, or go
// silent: connections stay, and nothing comes through any more. What was on its
// way arrives when the silence ends, unless the line is cut.
type Line struct {
	Addr string // host:port at which the other side is reached

	listener net.Listener
	network  string

	mu     sync.Mutex
	peer   string
	open   chan struct{} // closed while things come through
	delay  time.Duration
	conns  map[net.Conn]bool
	closed bool
}

// NewLine lays a line to whoever listens at peer.
func NewLine(network, peer string) (*Line, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Line{Addr: ln.Addr().String(), listener: ln, network: network, peer: peer, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.open)
	go l.accept()
	return l, nil
}

func (l *Line) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.carry(conn)
	}
}

// carry ends when one side does. A silent line accepts as a silent host's
// kernel would, and goes no further.
func (l *Line) carry(near net.Conn) {
	if !l.keep(near) {
		return
	}
	defer l.drop(near)
	open, _ := l.state()
	<-open
	far, err := net.Dial(l.network, l.whereTo())
	if err != nil || !l.keep(far) {
		return
	}
	defer l.drop(far)
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			l.pump(way[1], way[0])
			done <- struct{}{}
		}()
	}
	<-done
}

func (l *Line) pump(to io.Writer, from io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		open, delay := l.state()
		<-open
		if delay > 0 {
			<-time.After(delay)
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *Line) state() (open <-chan struct{}, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.delay
}

func (l *Line) whereTo() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peer
}

// Lead lets connections from now on go to somebody else.
func (l *Line) Lead(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peer = peer
}

func (l *Line) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		conn.Close()
		return false
	}
	l.conns[conn] = true
	return true
}

// carries reports whether anybody is connected.
func (l *Line) carries() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns) > 0
}

func (l *Line) drop(conn net.Conn) {
	conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// Silence lets nothing through until Heal.
func (l *Line) Silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		l.open = make(chan struct{})
	default:
	}
}

// Slow lets each piece wait before it goes on.
func (l *Line) Slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// Heal makes the line whole.
func (l *Line) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = 0
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// Cut ends every connection; others can be made at once.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		conn.Close()
	}
}

// Close ends the line.
func (l *Line) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.listener.Close()
	l.Heal()
	l.Cut()
}

// Lines are several ways on which the same happens.
type Lines []*Line

// Silence lets nothing through until Heal.
func (all Lines) Silence() {
	for _, l := range all {
		l.Silence()
	}
}

// Slow lets each piece wait before it goes on.
func (all Lines) Slow(delay time.Duration) {
	for _, l := range all {
		l.Slow(delay)
	}
}

// Heal makes the lines whole.
func (all Lines) Heal() {
	for _, l := range all {
		l.Heal()
	}
}

// Cut ends every connection; others can be made at once.
func (all Lines) Cut() {
	for _, l := range all {
		l.Cut()
	}
}
