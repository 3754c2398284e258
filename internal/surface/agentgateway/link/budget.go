package link

import (
	"fmt"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
)

// What one connection may ask of this node, in bytes: frames that make work
// count for more than their length. An agent that sends faster is not refused,
// it waits: what it sends stays in its socket.
const (
	rate      = 64 << 20 // a second
	burst     = 64 << 20
	shortWait = 5 * time.Millisecond // shorter ones are saved up

	frameCost  = 1 << 10  // any frame: as many as 64,000 a second
	longFrame  = 4 << 10  // beyond, bytes count four times: reading them is then most of the work
	longDelta  = 12       // times more, where they are a piece of an answer, which goes to whoever watches, or of no use
	refuseCost = 4 << 10  // one that has to be answered with what is wrong with it
	storeCost  = 32 << 10 // one that is stored, while it is
	lookUpCost = 16 << 10 // one about a turn that is looked up first, or that reaches other nodes

	maxUnderway = 8 << 20  // of frames that are being stored or looked up
	maxStreamed = 64 << 20 // of one turn before its reply
	maxWasted   = 16 << 20 // in a row that were of no use: then the connection ends
	maxRefusals = 1000     // of one message or POST
)

// budget is what is left of that.
type budget struct {
	mu       sync.Mutex
	spent    float64   // of the burst, since at
	at       time.Time // when that was last looked at
	underway int
	room     *sync.Cond // nil until somebody had to wait
	wasted   int
}

// readCost is what it costs to read a frame.
func readCost(size int) int { return frameCost + size + 3*max(0, size-longFrame) }

// streamCost is what a piece of an answer, or a frame of no use, costs besides.
func streamCost(size int) int { return longDelta * max(0, size-longFrame) }

// spend counts a cost, and waits when there was too much of late.
func (b *budget) spend(cost int) {
	b.mu.Lock()
	if b.at.IsZero() {
		b.at = time.Now()
	}
	b.spent += float64(cost)
	if b.spent > burst { // rarely: the clock is not free
		now := time.Now()
		b.spent = max(float64(cost), b.spent-now.Sub(b.at).Seconds()*rate)
		b.at = now
	}
	wait := time.Duration((b.spent - burst) / rate * float64(time.Second))
	b.mu.Unlock()
	if wait >= shortWait {
		<-time.After(wait)
	}
}

// begin waits until there is room for work of this size. One that is larger than
// all the room goes alone.
func (b *budget) begin(size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.underway > 0 && b.underway+size > maxUnderway {
		if b.room == nil {
			b.room = sync.NewCond(&b.mu)
		}
		b.room.Wait()
	}
	b.underway += size
}

func (b *budget) end(size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underway -= size
	if b.room != nil {
		b.room.Broadcast()
	}
}

// waste counts what was of no use, and reports whether that is too much.
func (b *budget) waste(size int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.wasted
	b.wasted += size
	return before <= maxWasted && b.wasted > maxWasted
}

func (b *budget) useful() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wasted = 0
}

// work does something for a frame beside its reader, who waits when there is too
// much of it.
func (c *Connection) work(size int, f func()) {
	c.budget.begin(size)
	c.hub.Go(func() {
		defer c.budget.end(size)
		f()
	})
}

// wasteFrame counts a frame that was of no use. An agent that sends nothing else
// is cut off.
func (c *Connection) wasteFrame(size int) {
	c.budget.spend(streamCost(size))
	if c.budget.waste(size + frameCost) {
		c.cutOff("nothing that the agent sends can be used")
	}
}

// cutOff ends a connection for what came over it, and keeps its instance away
// for a while.
func (c *Connection) cutOff(reason string) {
	c.hub.Offended(c.Instance)
	if c.transport != nil {
		c.hub.Go(func() { c.End(reason) })
	}
}

// countStream counts what an agent streams for a turn, and reports whether it may
// go on. Beyond the limit the turn ends with an error, which the agent hears of.
func (c *Connection) countStream(t *heldTurn, size int, to *Responses) bool {
	before := t.streamed.Add(int64(size)) - int64(size)
	if before+int64(size) <= maxStreamed {
		return true
	}
	if before <= maxStreamed {
		why := fmt.Sprintf("the agent has streamed more than %d MiB for one answer; it should send large things as files", maxStreamed>>20)
		c.enqueue(codec.Encode(&beeos.Frame{Type: beeos.FrameCancel, MessageID: t.ID, Reason: why}))
		_ = c.finish(&beeos.Frame{Type: beeos.FrameError, MessageID: t.ID, Error: &beeos.FrameFault{Message: why}}, to) // its turn is served here
	}
	return false
}
