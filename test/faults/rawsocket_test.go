//go:build hostile

package faults

import (
	"bufio"
	"cmp"
	"context"
	endian "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// The first byte of a WebSocket frame.
const (
	finBit    = 0x80
	packedBit = 0x40
	opMore    = 0x0
	opText    = 0x1
	opPing    = 0x9
	opPong    = 0xa
)

// rawSocket is a WebSocket of an agent's by hand: it says what no library would.
type rawSocket struct {
	net.Conn
	extensions string           // that the gateway agreed to
	frames     chan beeos.Frame // those that tell of something to do; closed when the gateway hangs up
	pong       bool             // pings are answered
	within     time.Duration    // how long a flood may last; 0 = as all of them
	mu         sync.Mutex       // of a frame that is being written
}

// open connects. header is added to the request's; what the gateway sends is
// read, or left alone.
func (h *hostileAgent) open(header string, read bool) (*rawSocket, error) {
	const path = "/api/v1/agents/connect"
	addr := strings.TrimPrefix(h.node.agents, "http://")
	conn, err := (&net.Dialer{}).DialContext(h.ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(h.ctx, func() { conn.Close() })
	s := &rawSocket{Conn: conn, frames: make(chan beeos.Frame, 64)}
	in := bufio.NewReader(conn)
	if err := s.upgrade(in, addr, path, beeos.Sign(h.key, h.instance, http.MethodGet, path, nil), header); err != nil {
		stop()
		conn.Close()
		return nil, err
	}
	if read {
		go s.listen(in) // ends with the connection
	}
	return s, nil
}

// errKeptAway is what an agent meets that was cut off a moment ago.
var errKeptAway = errors.New("the gateway keeps the agent away")

func (s *rawSocket) upgrade(in *bufio.Reader, addr, path, authorization, header string) error {
	_, err := fmt.Fprintf(s, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: %s\r\n%s\r\n", path, addr, authorization, header)
	if err != nil {
		return err
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests {
		return errKeptAway
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the gateway answers %s", resp.Status)
	}
	s.extensions = resp.Header.Get("Sec-WebSocket-Extensions")
	return nil
}

// listen reads until the gateway hangs up.
func (s *rawSocket) listen(in *bufio.Reader) {
	defer close(s.frames)
	for {
		op, data, err := readFrame(in)
		if err != nil {
			return
		}
		if op == opPing && s.pong {
			s.write(append(frameHead(finBit|opPong, len(data)), data...)) //nolint:errcheck // the reader notices
		}
		if op != opText {
			continue
		}
		for _, f := range frames(data) {
			if f.Type == beeos.FrameMessage || f.Type == beeos.FrameHello {
				s.frames <- f
			}
		}
	}
}

// readFrame reads a frame of a server's, which has no mask.
func readFrame(in *bufio.Reader) (op byte, data []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	size := uint64(head[1])
	if size > 125 {
		var long [8]byte
		more := long[:2]
		if size == 127 {
			more = long[:]
		}
		if _, err := io.ReadFull(in, more); err != nil {
			return 0, nil, err
		}
		if size = uint64(endian.BigEndian.Uint16(more)); len(more) == 8 {
			size = endian.BigEndian.Uint64(more)
		}
	}
	data = make([]byte, size)
	_, err = io.ReadFull(in, data)
	return head[0] & 0xf, data, err
}

// frameHead begins a frame with a mask that changes nothing.
func frameHead(first byte, size int) []byte {
	head := []byte{first, 0x80 | 127}
	head = endian.BigEndian.AppendUint64(head, uint64(size))
	switch {
	case size < 126:
		head = []byte{first, 0x80 | byte(size)}
	case size < 1<<16:
		head = endian.BigEndian.AppendUint16([]byte{first, 0x80 | 126}, uint16(size))
	}
	return append(head, 0, 0, 0, 0)
}

func (s *rawSocket) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.Conn.Write(b)
	return err
}

// send sends text as one message.
func (s *rawSocket) send(text []byte) error {
	return s.write(append(frameHead(finBit|opText, len(text)), text...))
}

// repeat sends one message over and over.
func (s *rawSocket) repeat(times int, text []byte) error {
	return s.repeatRaw(times, append(frameHead(finBit|opText, len(text)), text...))
}

func (s *rawSocket) repeatRaw(times int, frame []byte) error {
	if err := s.SetWriteDeadline(time.Now().Add(cmp.Or(s.within, floodFor))); err != nil {
		return err
	}
	out := bufio.NewWriterSize(s.Conn, 64<<10)
	for range times {
		if _, err := out.Write(frame); err != nil {
			return err
		}
	}
	return out.Flush()
}

// closed waits for the gateway to hang up.
func (s *rawSocket) closed(ctx context.Context) error {
	for {
		select {
		case _, open := <-s.frames:
			if !open {
				return nil
			}
		case <-ctx.Done():
			return errors.New("the gateway keeps the socket open")
		}
	}
}

// trickle sends the same now and then until the gateway hangs up, which must
// not take long.
func (s *rawSocket) trickle(ctx context.Context, piece []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	gone := make(chan error, 1)
	go func() { gone <- s.closed(ctx) }()
	for {
		s.write(piece) //nolint:errcheck // whether it is gone is seen below
		select {
		case err := <-gone:
			return err
		case <-time.After(patience / 3):
		}
	}
}
