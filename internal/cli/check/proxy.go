package check

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// What a later version of the gateway might say.
const (
	unknownMember = `{"member_of_a_later_version":{"a":[1,null]},`
	unknownFrame  = "\n" + `{"type":"frame_of_a_later_version","message_id":"x","request_id":"y","value":[{"a":1}]}`
)

// laterGateway stands between the agent and the gateway. What the gateway says over
// a WebSocket reaches the agent with frames and members in it that nobody knows.
type laterGateway struct {
	ln      net.Listener
	behind  string
	added   atomic.Int64 // messages with something unknown in them
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

func startLaterGateway(address, behind string) (*laterGateway, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("stand in for the gateway: %w", err)
	}
	g := &laterGateway{ln: ln, behind: behind, open: map[net.Conn]struct{}{}}
	g.running.Go(g.accept) // until close
	return g, nil
}

func (g *laterGateway) close() {
	g.ln.Close() //nolint:errcheck // it is not needed any more
	g.mu.Lock()
	g.closed = true
	for conn := range g.open {
		conn.Close() //nolint:errcheck // likewise
	}
	g.mu.Unlock()
	g.running.Wait()
}

func (g *laterGateway) accept() {
	for {
		conn, err := g.ln.Accept()
		if err != nil {
			return
		}
		g.running.Go(func() { g.serve(conn) }) // until one side closes
	}
}

// keep lets close find a connection; it reports whether there is time for it.
func (g *laterGateway) keep(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[conn] = struct{}{}
	return !g.closed
}

func (g *laterGateway) drop(conn net.Conn) {
	conn.Close() //nolint:errcheck // one side has closed already
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, conn)
}

func (g *laterGateway) serve(agent net.Conn) {
	defer g.drop(agent)
	gateway, err := net.Dial("tcp", g.behind)
	if err != nil || !g.keep(agent) || !g.keep(gateway) {
		return
	}
	defer g.drop(gateway)
	g.running.Go(func() { // until the agent closes
		io.Copy(gateway, agent) //nolint:errcheck // it ends with the connection
		gateway.Close()         //nolint:errcheck // so that the other direction ends
	})
	g.forward(agent, bufio.NewReader(gateway)) //nolint:errcheck // it ends with the connection
}

// forward passes on answers as they are, and the messages of a WebSocket with
// something in them.
func (g *laterGateway) forward(agent io.Writer, gateway *bufio.Reader) error {
	for {
		resp, err := http.ReadResponse(gateway, nil)
		if err != nil {
			return err
		}
		err = resp.Write(agent)
		resp.Body.Close() //nolint:errcheck // it was read
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	for {
		head, payload, err := readFrame(gateway)
		if err != nil {
			return err
		}
		if head == wholeText {
			payload = addUnknown(payload)
			g.added.Add(1)
		}
		if err := writeFrame(agent, head, payload); err != nil {
			return err
		}
	}
}

func addUnknown(message []byte) []byte {
	lines := strings.Split(strings.TrimSpace(string(message)), "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "{"); ok {
			lines[i] = unknownMember + rest
		}
	}
	return []byte(strings.Join(lines, "\n") + unknownFrame)
}

// wholeText is the first byte of a WebSocket frame that is a whole text message and
// not compressed.
const wholeText = 0x81

// readFrame reads a frame of a server, which is not masked (RFC 6455, section 5.2).
func readFrame(r io.Reader) (head byte, payload []byte, err error) {
	var first [2]byte
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return 0, nil, err
	}
	size := uint64(first[1] & 0x7f)
	if more := map[uint64]int{126: 2, 127: 8}[size]; more > 0 {
		var length [8]byte
		if _, err := io.ReadFull(r, length[8-more:]); err != nil {
			return 0, nil, err
		}
		size = binary.BigEndian.Uint64(length[:])
	}
	if size > 64<<20 {
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return first[0], payload, err
}

func writeFrame(w io.Writer, head byte, payload []byte) error {
	frame := []byte{head}
	switch n := len(payload); {
	case n < 126:
		frame = append(frame, byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 127), uint64(n))
	}
	_, err := w.Write(append(frame, payload...))
	return err
}
