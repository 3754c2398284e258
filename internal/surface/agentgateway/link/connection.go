package link

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
)

const (
	maxQueued = 8 << 20   // bytes for an agent that does not read; then it gets no more work
	maxPooled = 256 << 10 // larger buffers are left to the garbage collector
)

// Transport carries the frames of a connection to its agent.
type Transport interface {
	Wake()              // there are frames to take
	Shut(reason string) // the connection has ended
}

// Prober is a transport that finds out whether the agent's process still runs.
type Prober interface {
	Probe() // the agent was given something, and should give a sign of life
}

// overdueAfter is how long an agent may give no sign of life before others are
// preferred. It need not have begun to work: that its process takes what comes is
// enough.
const overdueAfter = 2 * time.Second

// Connection is one agent process that is connected to this node, by whatever
// transport. Frames for it gather in a queue; the transport takes all of them at
// once, so that a busy connection pays for few writes. An idle one holds no
// buffer and no goroutine besides its reader.
type Connection struct {
	ID       string
	Instance string
	Replies  Responses // for transports that answer on the connection itself

	hub       *Hub
	owner     string          // the user behind the instance
	only      map[string]bool // names of the agents it wants to serve; nil = all that its instance declared
	transport Transport       // nil for a visitor
	peer      Peer
	since     time.Time

	load   atomic.Int32 // turns in hand
	asked  atomic.Int64 // since when a sign of life is waited for, in nanoseconds; 0 = it is not
	budget budget

	mu       sync.Mutex
	agents   map[string]bool // ids that it serves
	out      []byte          // frames to be written, each with its line end
	writing  bool            // the transport knows about them
	turns    map[string]*heldTurn
	draining bool
	closed   bool
}

// Transport returns what carries the connection's frames.
func (c *Connection) Transport() Transport { return c.transport }

// enqueue queues one frame. An agent that reads too slowly for what it must
// know is better off with a new connection.
func (c *Connection) enqueue(frame []byte) {
	c.mu.Lock()
	ok, closed := c.appendFrame(frame), c.closed
	tell := ok && !c.writing
	c.writing = c.writing || ok
	c.mu.Unlock()
	if tell {
		c.transport.Wake()
	}
	if !ok && !closed {
		c.hub.Go(func() { c.End("the agent does not read") })
	}
}

// appendFrame queues a frame; c.mu is held.
func (c *Connection) appendFrame(frame []byte) bool {
	if c.closed || len(c.out)+len(frame) > maxQueued {
		return false
	}
	if c.out == nil {
		c.out = TakeBuffer()
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

// Take returns the queued frames, or nil when there are none; then the next
// frame wakes the transport again. The buffer goes back by PutBuffer.
func (c *Connection) Take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.out
	c.out = nil
	c.writing = len(out) > 0
	return out
}

// PutBack returns frames that could not be written to the head of the queue.
func (c *Connection) PutBack(frames []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(bytes.Clone(frames), c.out...)
}

// deliver hands a dispatch to the agent.
func (c *Connection) deliver(t *heldTurn, frame []byte) bool {
	t.conn = c
	c.hub.turns.add(t)
	c.mu.Lock()
	ok := !c.draining && c.appendFrame(frame)
	if ok {
		if c.turns == nil {
			c.turns = map[string]*heldTurn{}
		}
		c.turns[t.ID] = t
	}
	tell := ok && !c.writing
	c.writing = c.writing || ok
	c.mu.Unlock()
	if !ok {
		c.hub.turns.drop(t)
		return false
	}
	c.load.Add(1)
	if tell {
		c.transport.Wake()
	}
	if p, ok := c.transport.(Prober); ok && c.asked.CompareAndSwap(0, time.Now().UnixNano()) {
		p.Probe()
	}
	return true
}

// NoteLife says that the agent has given a sign of life.
func (c *Connection) NoteLife() { c.asked.Store(0) }

// AwaitsLife reports for how long a sign of life has been waited for; 0 = it is
// not.
func (c *Connection) AwaitsLife() time.Duration {
	asked := c.asked.Load()
	if asked == 0 {
		return 0
	}
	return max(1, time.Since(time.Unix(0, asked)))
}

func (c *Connection) isOverdue() bool { return c.AwaitsLife() > overdueAfter }

// heldTurn returns a turn that this connection works on, or nil.
func (c *Connection) heldTurn(id string) *heldTurn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns[id]
}

// drop forgets a turn that is over.
func (c *Connection) drop(t *heldTurn) {
	c.hub.turns.drop(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns[t.ID] == t {
		delete(c.turns, t.ID)
		c.load.Add(-1)
	}
}

// serves reports whether the connection may speak for the agent.
func (c *Connection) serves(agentID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[agentID]
}

// setAgents replaces what the connection serves and returns what it did
// before.
func (c *Connection) setAgents(ids map[string]bool) (before map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.agents = c.agents, ids
	return before
}

// servedAgents returns the ids of the agents that the connection serves.
func (c *Connection) servedAgents() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.agents))
}

func (c *Connection) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// drain lets the connection finish what it has and gives it no more.
func (c *Connection) drain() {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	c.hub.registry.unserve(c, c.servedAgents())
}

// Close takes the connection down and gives its work back; it reports whether
// it was up. Turns whose reply is being stored this moment stay with whoever
// stores it.
func (c *Connection) Close() bool {
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
	c.hub.registry.remove(c)
	var back []*heldTurn
	for _, t := range turns {
		c.hub.turns.drop(t)
		if t.Abandon() {
			back = append(back, t)
		}
	}
	c.hub.releaseTurns(back)
	return true
}

// End closes the connection from our side.
func (c *Connection) End(reason string) {
	if c.Close() {
		c.transport.Shut(reason)
	}
}

// IsClosed reports whether the connection has ended.
func (c *Connection) IsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// hello is the first frame on every connection.
func (c *Connection) hello(agents []*beeos.Agent) []byte {
	names := map[string]string{}
	for _, a := range agents {
		names[a.Name] = a.ID
	}
	return codec.Encode(&beeos.Frame{Type: beeos.FrameHello, ConnectionID: c.ID, Agents: names, HeartbeatMS: c.hub.Heartbeat.Milliseconds()})
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// TakeBuffer returns an empty buffer for frames.
func TakeBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

// PutBuffer takes back a buffer that is no longer used.
func PutBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= maxPooled {
		buffers.Put(&b)
	}
}
