package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// An agent may end its turn with questions, to be asked again with the answers.
// A stateless client does that itself; for the client of a session we put the
// questions on the stream of its call, and make the next turn out of what it
// answers, at whichever replica.

const (
	roundsMax    = 16               // turns of one call
	answerWithin = 10 * time.Minute // for a person
)

// bridge holds the questions that this replica has put on its own account.
type bridge struct {
	mu      sync.Mutex
	waiting map[string]chan []byte // ask -> {"result"} or {"error"}
}

func (b *bridge) open(id string) (answer chan []byte, closeIt func()) {
	answer = make(chan []byte, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[id] = answer
	return answer, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, id)
	}
}

// answered hands an answer to whoever waits for it here.
func (b *bridge) answered(id string, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer := b.waiting[id]; answer != nil {
		delete(b.waiting, id)
		answer <- data // it has room for one
	}
}

// put asks the client of a session everything that the agent needs. Without
// input there is a result that says why. The client can cancel its call here,
// too.
func (c *run) put(ctx context.Context, n *needed) (input map[string]json.RawMessage, early []byte) {
	c.flight = &flight{}
	ctx = c.x.register(ctx, c.flight, c.m.id)
	defer c.land()
	input = map[string]json.RawMessage{}
	answers := map[string]chan []byte{}
	for key, q := range httpd.Fields(n.requests) {
		ev := beeos.Event{AskID: "gateway_" + beeos.NewID(), Data: httpd.Field(q, "params")}
		ev.Method, _ = httpd.StringValue(httpd.Field(q, "method"))
		if c.x.session == nil || !c.x.out.streams || !c.x.can.has(needs(&ev)) {
			return nil, errorResult("The agent needs an answer before it can go on, and this client cannot be asked (" + ev.Method + ").")
		}
		answer, forget := c.x.g.bridge.open(ev.AskID)
		defer forget()
		answers[strings.Clone(key)] = answer
		c.x.out.event(c.x.ask(ctx, &ev)) //nolint:errcheck // then no answer comes
	}
	timer := time.NewTimer(answerWithin)
	defer timer.Stop()
	for key, answer := range answers {
		select {
		case data := <-answer:
			result := httpd.Field(data, "result")
			if kind(result) != '{' {
				return nil, errorResult("The client did not answer a question of the agent's.")
			}
			input[key] = result
		case <-timer.C:
			return nil, errorResult("Nobody answered a question of the agent's in time.")
		case <-ctx.Done():
			if c.x.g.opt.Context.Err() == nil {
				return nil, errorResult("The client cancelled this call.")
			}
			return nil, errorResult("The server is stopping: try again.")
		}
	}
	return input, nil
}

// nextKey is the idempotency key of a later turn of the same call: the first
// one's would bring the questions back.
func nextKey(key, state string, input map[string]json.RawMessage) string {
	if key == "" {
		return ""
	}
	given, _ := json.Marshal(input) // sorted by key; its values are JSON
	sum := sha256.Sum256([]byte(key + "\x00" + state + "\x00" + string(given)))
	return hex.EncodeToString(sum[:]) // as long for any key: all are within the limit
}
