//go:build hostile

package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

const (
	million    = 1_000_000
	tenGB      = 10 << 30
	callWithin = 6 * time.Second // what callers of a hostile agent give it
)

// floodFor is how long a flood lasts at most, where the gateway takes its time:
// all of a million frames, or an exercise.
var floodFor = map[bool]time.Duration{true: 20 * time.Second, false: 2 * time.Second}[strict]

// hostileAgent is an agent process that means harm, and its owner.
type hostileAgent struct {
	*rawAgent
	ctx  context.Context
	node *node
	user string // key of its owner
}

// agentAttacks are what an agent does to the gateway. Each returns an error when
// that could not be done, or did not end as it has to.
var agentAttacks = map[string]func(h *hostileAgent) error{
	"a million deltas": func(h *hostileAgent) error {
		return h.floodCall(million, `{"type":"delta","message_id":%q,"text":"x"}`)
	},
	"a million steps": func(h *hostileAgent) error {
		return h.floodCall(million, `{"type":"progress","message_id":%q,"progress":1,"text":"x"}`)
	},
	"a million questions": func(h *hostileAgent) error {
		return h.floodCall(million, `{"type":"input_required","message_id":%q,"body":"x"}`)
	},
	"a million calls of others": func(h *hostileAgent) error {
		return h.floodCall(million, `{"type":"request","method":"call_agent","request_id":"1","message_id":%q,"params":{"agent":"nobody","message":"x"}}`)
	},
	"a million unknown frames": func(h *hostileAgent) error {
		return h.flood(million, `{"type":"sing","message_id":"x"}`, true)
	},
	"a million lines of garbage": func(h *hostileAgent) error { return h.flood(million, `{"type":`, true) },
	"garbage without reading":    func(h *hostileAgent) error { return h.flood(million, `{"type":`, false) },
	"a million replies to nobody": func(h *hostileAgent) error {
		return h.flood(million, `{"type":"reply","message_id":"01a1ddda-8ab0-7289-9eae-985d5183f9ff","body":"x"}`, true)
	},
	"a million turns taken up": func(h *hostileAgent) error {
		return h.flood(million, `{"type":"working","message_id":"01a1ddda-8ab0-7289-9eae-985d5183f9ff"}`, true)
	},
	"a million changes": func(h *hostileAgent) error {
		return h.flood(million, `{"type":"resource_updated","uri":"x://y"}`, true)
	},
	"many lines in one message":   (*hostileAgent).packLines,
	"many lines in one post":      (*hostileAgent).postLines,
	"deltas without end":          (*hostileAgent).streamWithoutEnd,
	"a frame of 100 MB":           (*hostileAgent).sendLargeFrame,
	"a packed frame":              (*hostileAgent).sendPackedFrame,
	"100 MB of headers":           (*hostileAgent).sendLongHeaders,
	"calls that are never read":   (*hostileAgent).readNothing,
	"connections again and again": (*hostileAgent).reconnect,
	"pings without end":           (*hostileAgent).ping,
}

// agentTrickles are those by waiting.
var agentTrickles = map[string]func(h *hostileAgent) error{
	"a byte a minute in a frame":   (*hostileAgent).trickleFrame,
	"a byte a minute in a message": (*hostileAgent).trickleMessage,
}

// TestHostileAgents: an agent that floods the gateway, sends without end, does
// not read, or hardly ever says a word costs the server no memory to speak of,
// is cut off where it does not stop, and nobody else waits for it.
func TestHostileAgents(t *testing.T) {
	aside(t)
	n := newNode(t, "server")
	key, other := n.owner(), n.user("bystander@example.com")
	n.start()
	b := newBystander(t, n, other)
	ctx, cancel := context.WithTimeout(t.Context(), 16*patience)
	defer cancel()
	for name := range agentAttacks {
		t.Run(name, func(t *testing.T) { b.sufferAgents(ctx, t, n, key, name) })
	}
}

// TestHostileAgentsTrickle: a message that never ends is left after a minute.
func TestHostileAgentsTrickle(t *testing.T) {
	aside(t)
	n := newNode(t, "server")
	key, other := n.owner(), n.user("bystander@example.com")
	n.start()
	b := newBystander(t, n, other)
	ctx, cancel := context.WithTimeout(t.Context(), 8*patience)
	defer cancel()
	b.sufferAgents(ctx, t, n, key, slices.Collect(maps.Keys(agentTrickles))...)
}

// sufferAgents has agents attack side by side, each with one attack.
func (b *bystander) sufferAgents(ctx context.Context, t *testing.T, n *node, key string, names ...string) {
	var agents []*hostileAgent
	all := maps.Clone(agentAttacks)
	maps.Copy(all, agentTrickles)
	for _, name := range names {
		raw := registerRaw(t, n, key, strings.ReplaceAll(name, " ", "-"))
		agents = append(agents, &hostileAgent{rawAgent: raw, ctx: ctx, node: n, user: key})
	}
	b.suffer(t, strings.Join(names, ", "), func() {
		var attacks errgroup.Group
		for i, h := range agents {
			attacks.Go(func() error {
				err := all[names[i]](h)
				if errors.Is(err, errKeptAway) { // and asks again, whatever it was told
					pause(h.ctx, 200*time.Millisecond)
					return nil
				}
				return named("agent", names[i], err)
			})
		}
		if err := attacks.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// call asks the agent something and says how that ends: with an answer, or with
// an error that says why there is none.
func (h *hostileAgent) call(message string) error {
	ctx, cancel := context.WithTimeout(h.ctx, callWithin+patience)
	defer cancel()
	_, err := client.New(h.node.rest, h.user).Invoke(ctx, h.id, client.InvokeRequest{Message: message, TimeoutMS: callWithin.Milliseconds()})
	if err == nil || refused(err) {
		return nil
	}
	return fmt.Errorf("the call ended with %w", err)
}

// withTurn has somebody call the agent, lets work have the turn, and returns when
// both are over.
func (h *hostileAgent) withTurn(work func(s *rawSocket, turn string) error) error {
	s, err := h.open("", true)
	if err != nil {
		return err
	}
	defer s.Close()
	var both errgroup.Group
	both.Go(func() error { return h.call("go on") })
	both.Go(func() error {
		for {
			select {
			case f, ok := <-s.frames:
				if !ok {
					return errors.New("the socket was closed before the call came")
				}
				if f.Type == beeos.FrameMessage {
					return work(s, f.MessageID)
				}
			case <-h.ctx.Done():
				return errors.New("no call came")
			}
		}
	})
	return both.Wait()
}

// floodCall sends a frame of a turn again and again, and then ends it.
func (h *hostileAgent) floodCall(times int, frame string) error {
	return h.withTurn(func(s *rawSocket, turn string) error {
		if err := s.repeat(times, fmt.Appendf(nil, frame, turn)); err != nil {
			return nil //nolint:nilerr // being cut off is an end as well
		}
		s.send(fmt.Appendf(nil, `{"type":"reply","message_id":%q,"body":"done"}`, turn)) //nolint:errcheck // as above
		return nil
	})
}

// flood sends a frame that belongs to no call, and goes.
func (h *hostileAgent) flood(times int, frame string, read bool) error {
	s, err := h.open("", read)
	if err != nil {
		return err
	}
	defer s.Close()
	s.repeat(times, []byte(frame)) //nolint:errcheck // being cut off is an end as well
	return nil
}

func (h *hostileAgent) packLines() error {
	s, err := h.open("", true)
	if err != nil {
		return err
	}
	defer s.Close()
	s.send([]byte(strings.Repeat("x\n", 2<<20-64))) //nolint:errcheck // being cut off is an end as well
	return nil
}

// postLines sends frames by POST, whose answer says what was wrong with each.
func (h *hostileAgent) postLines() error {
	const path = "/api/v1/agents/frames"
	body := strings.Repeat("x\n", 2<<20-64)
	req, err := http.NewRequestWithContext(h.ctx, http.MethodPost, h.node.agents+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", beeos.Sign(h.key, h.instance, http.MethodPost, path, []byte(body)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests {
		return errKeptAway
	}
	return nil
}

// streamWithoutEnd streams an answer until the gateway has had enough, and then
// some.
func (h *hostileAgent) streamWithoutEnd() error {
	return h.withTurn(func(s *rawSocket, turn string) error {
		delta := fmt.Appendf(nil, `{"type":"delta","message_id":%q,"text":"%s"}`, turn, strings.Repeat("x", 64<<10))
		s.within = patience
		if err := s.repeat(tenGB/len(delta), delta); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return errors.New("the gateway takes and takes")
		}
		return nil
	})
}

func (h *hostileAgent) sendLargeFrame() error {
	s, err := h.open("", true)
	if err != nil {
		return err
	}
	defer s.Close()
	s.send([]byte(strings.Repeat("x", 100<<20))) //nolint:errcheck // how far it comes is not the point
	return s.closed(h.ctx)
}

// sendPackedFrame sends a frame that says it is compressed, to whoever unpacks.
func (h *hostileAgent) sendPackedFrame() error {
	s, err := h.open("Sec-WebSocket-Extensions: permessage-deflate\r\n", true)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.extensions != "" {
		return fmt.Errorf("the gateway unpacks: %s", s.extensions)
	}
	s.Write(frameHead(finBit|packedBit|opText, 1000)) //nolint:errcheck // how far it comes is not the point
	s.Write(make([]byte, 1000))                       //nolint:errcheck // as above
	return s.closed(h.ctx)
}

func (h *hostileAgent) sendLongHeaders() error {
	s, err := h.open(strings.Repeat("X-Long: "+strings.Repeat("x", 990)+"\r\n", 100<<20/1000), true)
	if err == nil {
		s.Close()
		return errors.New("the gateway took 100 MB of headers")
	}
	return nil
}

// readNothing lets calls pile up.
func (h *hostileAgent) readNothing() error {
	s, err := h.open("", false)
	if err != nil {
		return err
	}
	defer s.Close()
	var calls errgroup.Group
	long := strings.Repeat("x", 500<<10)
	for range 20 {
		calls.Go(func() error { return h.call(long) })
		if !pause(h.ctx, 100*time.Millisecond) { // what it does not read is the point, not what callers write
			break
		}
	}
	return calls.Wait()
}

// reconnect connects over and over, and keeps what it has.
func (h *hostileAgent) reconnect() error {
	var storm errgroup.Group
	for range 8 {
		storm.Go(func() error {
			for range 250 {
				s, err := h.open("", false)
				if err == nil {
					defer s.Close()
				}
				if h.ctx.Err() != nil {
					return h.ctx.Err()
				}
			}
			return nil
		})
	}
	return storm.Wait()
}

func (h *hostileAgent) ping() error {
	s, err := h.open("", false)
	if err != nil {
		return err
	}
	defer s.Close()
	s.repeatRaw(million, append(frameHead(finBit|opPing, 1), 'x')) //nolint:errcheck // being cut off is an end as well
	return nil
}

// trickleFrame sends the middle of a frame, byte by byte, until it is cut off.
func (h *hostileAgent) trickleFrame() error {
	s, err := h.open("", true)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Write(frameHead(finBit|opText, 4<<20)) //nolint:errcheck // seen below
	return s.trickle(h.ctx, []byte("x"))
}

// trickleMessage never ends a message, but each of its frames, and answers pings
// between them.
func (h *hostileAgent) trickleMessage() error {
	s, err := h.open("", true)
	if err != nil {
		return err
	}
	defer s.Close()
	s.pong = true
	s.Write(frameHead(opText, 3<<20)) //nolint:errcheck // seen below
	s.Write(make([]byte, 3<<20))      //nolint:errcheck // as above
	return s.trickle(h.ctx, append(frameHead(opMore, 1), 'x'))
}
