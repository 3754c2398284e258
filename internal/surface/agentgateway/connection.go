package agentgateway

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
)

const (
	maxQueued = 8 << 20  // bytes for an agent that does not read; then it gets no more work
	pooled    = 64 << 10 // larger buffers are left to the garbage collector
)

// connection is one agent process at this node's door, whatever it came by.
// Frames for it gather in a queue; the transport takes all of them at once, so
// that a busy connection pays for few writes. An idle one holds no buffer and
// no goroutine besides its reader.
type connection struct {
	g        *Gateway
	id       string
	instance string
	owner    string          // the user behind the instance
	only     map[string]bool // names of the agents it wants to serve; nil = all that its instance declared
	wake     func()          // tells the transport that there are frames to take; nil for a visitor
	shut     func(reason string)
	replies  answers // where acknowledgements go

	poll *poller // long poll alone

	load atomic.Int32 // turns in hand

	mu       sync.Mutex
	agents   map[string]bool // ids that it serves
	out      []byte          // frames to be written, each with its line end
	writing  bool            // the transport knows about them
	turns    map[string]*turn
	draining bool
	closed   bool
	polled   time.Time // long poll: when the agent last asked; zero while it asks
}

// enqueue queues one frame. An agent that reads too slowly for what it must
// know is better off with a new connection.
func (c *connection) enqueue(frame []byte) {
	c.mu.Lock()
	ok, closed := c.append(frame), c.closed
	tell := ok && !c.writing
	c.writing = c.writing || ok
	c.mu.Unlock()
	if tell {
		c.wake()
	}
	if !ok && !closed {
		c.g.workers.Go(func() { c.end("the agent does not read") })
	}
}

// append queues a frame; c.mu is held.
func (c *connection) append(frame []byte) bool {
	if c.closed || len(c.out)+len(frame) > maxQueued {
		return false
	}
	if c.out == nil {
		c.out = takeBuffer()
	}
	start := len(c.out)
	c.out = append(append(c.out, frame...), '\n')
	// A line break is white space between JSON tokens, but it ends a frame.
	if line := c.out[start : len(c.out)-1]; bytes.IndexByte(line, '\n') >= 0 {
		for i, b := range line {
			if b == '\n' {
				line[i] = ' '
			}
		}
	}
	return true
}

// take returns the queued frames, or nil when there are none; then the next
// enqueue wakes the transport again. The buffer goes back by putBuffer.
func (c *connection) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.out
	c.out = nil
	c.writing = len(out) > 0
	return out
}

// putBack returns frames that could not be written to the head of the queue.
func (c *connection) putBack(frames []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(bytes.Clone(frames), c.out...)
}

// deliver hands a dispatch to the agent.
func (c *connection) deliver(t *turn, frame []byte) bool {
	t.conn = c
	c.g.desk.hold(t)
	c.mu.Lock()
	ok := !c.draining && c.append(frame)
	if ok {
		if c.turns == nil {
			c.turns = map[string]*turn{}
		}
		c.turns[t.id] = t
	}
	tell := ok && !c.writing
	c.writing = c.writing || ok
	c.mu.Unlock()
	if !ok {
		c.g.desk.drop(t)
		return false
	}
	c.load.Add(1)
	if tell {
		c.wake()
	}
	return true
}

// turn returns a turn that this connection works on, or nil.
func (c *connection) turn(id string) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns[id]
}

// drop forgets a turn that is over.
func (c *connection) drop(t *turn) {
	c.g.desk.drop(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns[t.id] == t {
		delete(c.turns, t.id)
		c.load.Add(-1)
	}
}

// serves reports whether the connection may speak for the agent.
func (c *connection) serves(agentID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[agentID]
}

// setAgents replaces what the connection serves and returns what it did
// before.
func (c *connection) setAgents(ids map[string]bool) (before map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.agents = c.agents, ids
	return before
}

func (c *connection) agentsNow() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents
}

func (c *connection) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// drain lets the connection finish what it has and gives it no more.
func (c *connection) drain() {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	c.g.registry.retire(c)
}

// close takes the connection down and gives its work back; it reports whether
// it was up. Turns whose reply is being stored this moment stay with whoever
// stores it.
func (c *connection) close() bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.closed = true
	turns := c.turns
	c.turns, c.out = nil, nil
	c.mu.Unlock()
	c.load.Store(0)
	c.g.registry.remove(c)
	var back []*turn
	for _, t := range turns {
		c.g.desk.drop(t)
		if t.abandon() {
			back = append(back, t)
		}
	}
	c.g.release(back)
	return true
}

// end closes the connection from our side.
func (c *connection) end(reason string) {
	if c.close() {
		c.shut(reason)
	}
}

func (c *connection) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// hello is the first frame on every connection.
func (c *connection) hello(agents []*beeos.Agent) []byte {
	names := map[string]string{}
	for _, a := range agents {
		names[a.Name] = a.ID
	}
	return encode(&beeos.Frame{Type: beeos.FrameHello, ConnectionID: c.id, Agents: names, HeartbeatMS: c.g.Heartbeat.Milliseconds()})
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func takeBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

func putBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= pooled {
		buffers.Put(&b)
	}
}
