package bus

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	subjectHealth = "health"
	healthWithin  = 250 * time.Millisecond
)

// Health is what one node knows of an agent.
type Health struct {
	Node        string       `json:"node"`   // its name
	Since       time.Time    `json:"since"`  // when the node began to count
	Opened      int          `json:"opened"` // connections of the agent since then
	Connections []Connection `json:"connections,omitempty"`
	Lines       []LogLine    `json:"lines,omitempty"` // what the agent logged last, in order
}

// Connection is a process of an agent that is connected now.
type Connection struct {
	Instance string    `json:"instance"`
	Address  string    `json:"address"` // where it called from
	Program  string    `json:"program,omitempty"`
	Since    time.Time `json:"since"`
	Working  int       `json:"working"` // requests that it has in hand
}

// LogLine is what an agent logged about a request.
type LogLine struct {
	At     time.Time `json:"at"`
	Turn   string    `json:"turn"`
	Level  string    `json:"level,omitempty"`
	Logger string    `json:"logger,omitempty"`
	Text   string    `json:"text"`
}

// ServeHealth lets this node answer what it knows of an agent; ok says that it
// knows something.
func (b *Bus) ServeHealth(of func(agentID string) (h Health, ok bool)) {
	b.mu.Lock()
	b.health = of
	b.mu.Unlock()
}

// Health asks all nodes what they know of an agent. Nobody knows how many there
// are, so with others it takes a quarter of a second.
func (b *Bus) Health(ctx context.Context, agentID string) []Health {
	var all []Health
	if h, ok := b.healthHere(agentID); ok {
		all = append(all, h)
	}
	if !b.peers() {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return all
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only when the connection is gone
	if b.nc.PublishRequest(subjectHealth, inbox, []byte(agentID)) != nil {
		return all
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil || m.Header.Get("Status") != "" {
			break
		}
		var h Health
		if err := json.Unmarshal(m.Data, &h); err != nil {
			b.log.Error("bus: the health of an agent", "err", err)
			continue
		}
		if h.Node != b.NodeName() { // which gets its own question, too
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(x, y Health) int { return strings.Compare(x.Node, y.Node) })
	return all
}

// answerHealth tells another node what this one knows of an agent. It does not
// hold up what else comes: the answer may have to wait for a lock.
func (b *Bus) answerHealth(m *nats.Msg) {
	b.done.Go(func() {
		h, ok := b.healthHere(string(m.Data))
		if !ok {
			return
		}
		data, err := json.Marshal(h)
		if err == nil {
			err = m.Respond(data)
		}
		if err != nil {
			b.log.Warn("bus: answer with the health of an agent", "err", err)
		}
	})
}

func (b *Bus) healthHere(agentID string) (h Health, ok bool) {
	b.mu.RLock()
	of := b.health
	b.mu.RUnlock()
	if of == nil {
		return h, false
	}
	h, ok = of(agentID)
	h.Node = b.NodeName()
	return h, ok
}
