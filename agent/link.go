package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
)

const (
	maxBatch    = 256 << 10 // bytes that one WebSocket message carries, unless one frame is larger
	maxQueued   = 1 << 20   // bytes to be written before a streaming handler is held back
	maxRead     = 32 << 20
	helloWithin = 10 * time.Second
	minPause    = 200 * time.Millisecond
	maxPause    = 15 * time.Second
)

// link is one WebSocket to the gateway. Whoever sends only queues; a single
// writer takes all that has gathered and writes it at once.
type link struct {
	ws        *websocket.Conn
	heard     atomic.Int64  // when the gateway last gave a sign of life, unix nanoseconds
	heartbeat atomic.Int64  // how often it promised to, nanoseconds
	greeted   atomic.Bool   // by the gateway
	done      chan struct{} // closed when the link is dead

	mu      sync.Mutex
	queue   [][]byte
	queued  int           // bytes
	wake    chan struct{} // has room for one
	emptied chan struct{} // closed and replaced when the queue was taken
}

// connectForever keeps a link up until ctx ends or trying again is pointless.
func (a *Agent) connectForever(ctx context.Context) error {
	a.mu.Lock()
	a.base = ctx
	a.mu.Unlock()
	pause := minPause
	for {
		greeted, err := a.connectOnce(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if refused, ok := errors.AsType[*refusal](err); ok {
			return fmt.Errorf("agent %s: %w", a.opts.Name, refused)
		}
		if greeted {
			pause = minPause
		}
		wait := pause/2 + rand.N(pause)
		level := slog.LevelWarn
		if websocket.CloseStatus(err) == websocket.StatusServiceRestart {
			level = slog.LevelInfo // it said so; only if it stays away there is trouble
		}
		a.log.Log(ctx, level, "not connected; trying again", "gateway", a.gw.base, "in", wait.Round(time.Millisecond).String(), "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// connectOnce joins and declares the agent where that is needed, connects, and
// serves the connection until it breaks.
func (a *Agent) connectOnce(ctx context.Context) (greeted bool, err error) {
	if err := a.gw.ensureDeclared(ctx, a.declared.Load().def); err != nil {
		return false, err
	}
	l := &link{done: make(chan struct{}), wake: make(chan struct{}, 1), emptied: make(chan struct{})}
	l.heard.Store(time.Now().UnixNano())
	l.heartbeat.Store(int64(helloWithin))
	if l.ws, err = a.gw.dial(ctx, a.opts.Name, l.noteSignOfLife); err != nil {
		return false, err
	}
	l.ws.SetReadLimit(maxRead)

	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { l.writeQueued(ctx) })
	others.Go(func() { l.closeWhenSilent(ctx) })
	err = a.readFrames(l)
	cancel()
	close(l.done)
	a.onLost(l)
	others.Wait()
	return l.greeted.Load(), err
}

// onHello makes l the current link and sends what an earlier one could not
// bring.
func (a *Agent) onHello(l *link, f beeos.Frame) {
	id := f.Agents[a.opts.Name]
	if f.HeartbeatMS > 0 {
		l.heartbeat.Store(f.HeartbeatMS * int64(time.Millisecond))
	}
	a.mu.Lock()
	if id != "" {
		a.id = id
	}
	a.link = l
	draining, turns := a.draining, slices.Collect(maps.Values(a.turns))
	a.mu.Unlock()
	if l.greeted.Swap(true) { // again: what this connection serves has changed
		if id == "" {
			a.log.Warn("this agent was deactivated; it gets no messages until it is declared again")
		}
		return
	}
	if draining {
		l.send(encode(beeos.Frame{Type: beeos.FrameDrain}))
	}
	takeOver(l, turns)
	if id == "" { // declared by somebody else since, or deactivated
		a.gw.synced.Store(false)
		l.ws.Close(websocket.StatusNormalClosure, "not declared") //nolint:errcheck // reconnecting anyway
		return
	}
	a.log.Info("connected", "gateway", a.gw.base, "id", id)
	if a.opts.Connected != nil {
		a.opts.Connected(id)
	}
}

// onRestart does what the owner asks for: what the program does about it, or else
// the connection is made anew and the agent declared again. Answers in the making
// go on, and are brought over the new connection.
func (a *Agent) onRestart(l *link) {
	a.log.Info("the owner asks for a restart")
	if a.opts.Restart != nil {
		a.opts.Restart()
		return
	}
	a.gw.synced.Store(false)
	l.ws.Close(websocket.StatusNormalClosure, "restarting") //nolint:errcheck // reconnecting anyway
}

// takeOver brings the answers that have ended, and says which ones go on.
func takeOver(l *link, turns []*Reply) {
	var working [][]byte
	for _, r := range turns {
		if r.hasEnded() {
			r.sendAgain()
		} else {
			working = append(working, encode(beeos.Frame{Type: beeos.FrameWorking, MessageID: r.m.ID}))
		}
	}
	for _, frame := range working {
		l.send(frame)
	}
}

func (a *Agent) onLost(l *link) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == l {
		a.link = nil
		a.dropQuestions()
	}
}

func (a *Agent) currentLink() *link {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.link
}

// send queues a frame, if there is a connection.
func (a *Agent) send(frame []byte) {
	if l := a.currentLink(); l != nil {
		l.send(frame)
	}
}

// readFrames hands every frame to receiveFrame until the connection breaks.
func (a *Agent) readFrames(l *link) error {
	var buf bytes.Buffer
	for {
		// Without a cancellable context a read costs nothing extra;
		// closeWhenSilent closes the socket.
		_, r, err := l.ws.Reader(context.Background())
		if err != nil {
			return err
		}
		buf.Reset()
		if _, err := io.Copy(&buf, r); err != nil {
			return err
		}
		l.noteSignOfLife()
		for line := range bytes.Lines(buf.Bytes()) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				a.receiveFrame(l, line)
			}
		}
		if buf.Cap() > maxBatch {
			buf = bytes.Buffer{}
		}
	}
}

func (l *link) noteSignOfLife() { l.heard.Store(time.Now().UnixNano()) }

// closeWhenSilent closes the socket when ctx ends, or when the gateway has been
// silent for three heartbeats.
func (l *link) closeWhenSilent(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.ws.Close(websocket.StatusNormalClosure, "bye") //nolint:errcheck // nothing is left to lose
			return
		case now := <-tick.C:
			if now.UnixNano()-l.heard.Load() > 3*l.heartbeat.Load() {
				l.ws.CloseNow() //nolint:errcheck // it is dead
				return
			}
		}
	}
}

// send queues one frame.
func (l *link) send(frame []byte) {
	l.mu.Lock()
	l.queue = append(l.queue, frame)
	l.queued += len(frame) + 1
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// waitForRoom returns when there is room for more, or no point in waiting.
func (l *link) waitForRoom(ctx context.Context) {
	for {
		l.mu.Lock()
		full, emptied := l.queued > maxQueued, l.emptied
		l.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-emptied:
		case <-l.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// writeQueued writes what is queued, many frames at a time.
func (l *link) writeQueued(ctx context.Context) {
	var batch []byte
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		for frames := l.takeQueued(); len(frames) > 0; {
			batch = batch[:0]
			for len(frames) > 0 && (len(batch) == 0 || len(batch)+len(frames[0]) < maxBatch) {
				batch = append(append(batch, frames[0]...), '\n')
				frames = frames[1:]
			}
			if err := l.ws.Write(context.Background(), websocket.MessageText, batch); err != nil {
				l.ws.CloseNow() //nolint:errcheck // the reader reports it
				return
			}
		}
	}
}

func (l *link) takeQueued() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	frames := l.queue
	l.queue, l.queued = nil, 0
	close(l.emptied)
	l.emptied = make(chan struct{})
	return frames
}

// dial opens the WebSocket, signed like every other request.
func (g *gateway) dial(ctx context.Context, name string, alive func()) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	path := "/api/v1/agents/connect?agents=" + url.QueryEscape(name)
	ws, resp, err := websocket.Dial(ctx, g.base+path, &websocket.DialOptions{
		HTTPClient:     g.http,
		HTTPHeader:     http.Header{"Authorization": {g.sign(http.MethodGet, path, nil)}, "User-Agent": {userAgent()}},
		OnPingReceived: func(context.Context, []byte) bool { alive(); return true },
	})
	if err != nil {
		if resp != nil && resp.StatusCode >= 400 {
			err = g.noteAnswer(readError(resp))
			if beeos.CodeOf(err) == beeos.AgentNotFound {
				g.synced.Store(false) // deactivated since; declared again at the next try
			}
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	return ws, g.noteAnswer(nil)
}
