package verify

import (
	"database/sql"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// message is what is looked at of one, with what its channel says.
type message struct {
	channel, id, kind, inReplyTo, agent string
	off, route                          int64
	terminal                            bool
	next                                sql.NullInt64 // of the channel; NULL = there is none
	closed                              sql.NullString
}

const messagesInOrder = `SELECT m.channel, m.off, m.id, m.type, m.in_reply_to, m.terminal, m.agent_id, m.route, c.next_off, c.closed_reason
	FROM messages m LEFT JOIN channels c ON c.id = m.channel ORDER BY m.channel, m.off`

// silentChannels have handed out offsets and hold no message.
const silentChannels = `SELECT id, next_off FROM channels c WHERE next_off > 1 AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.channel = c.id)`

// checkMessages goes through all messages, channel by channel, in order.
func (c *checker) checkMessages() (string, error) {
	var ch *channel
	messages, channels := 0, 0
	err := c.each(messagesInOrder, func(r *sql.Rows) error {
		var m message
		if err := r.Scan(&m.channel, &m.off, &m.id, &m.kind, &m.inReplyTo, &m.terminal, &m.agent, &m.route, &m.next, &m.closed); err != nil {
			return err
		}
		if ch == nil || ch.id != m.channel {
			ch.end(c)
			ch = newChannel(c, &m)
			channels++
		}
		messages++
		ch.take(c, &m)
		return nil
	})
	looked := count(messages, "message") + " in " + count(channels, "channel")
	if err != nil {
		return looked, err
	}
	ch.end(c)
	for _, turn := range database.SortedKeys(c.open) {
		if d := c.open[turn]; !d.found {
			c.find(turn, "it is under way to agent %s, and no such request is at offset %d of channel %s", d.agent, d.off, d.channel)
		}
	}
	return looked, c.each(silentChannels, func(r *sql.Rows) error {
		var id string
		var next int64
		err := r.Scan(&id, &next)
		c.find(id, "the channel has handed out %d offsets and holds no message", next-1)
		return err
	})
}

// channel is one channel as far as its messages have been read.
type channel struct {
	id     string
	known  bool  // there is a row for it
	next   int64 // the offset that it hands out next
	closed bool

	expected int64           // the offset of the next message
	gapsFine bool            // something was said to which a late answer may have been refused
	asked    map[string]bool // requests -> whether they have their final reply
	copied   map[string]bool // what a replay's channel begins with; nobody is asked again
	requests []string        // asked, in order
}

func newChannel(c *checker, m *message) *channel {
	ch := &channel{id: m.channel, known: m.next.Valid, next: m.next.Int64, closed: m.closed.String != "", expected: 1, asked: map[string]bool{}, copied: map[string]bool{}}
	if !ch.known {
		c.find(ch.id, "there are messages of this channel, from %s on, and no channel", m.id)
	}
	return ch
}

// take looks at the next message of the channel.
func (ch *channel) take(c *checker, m *message) {
	ch.checkOffset(c, m)
	if m.terminal != beeos.MessageType(m.kind).Terminal() {
		c.find(m.id, "it is of type %s, and stored as if it were another kind: final=%t", m.kind, m.terminal)
	}
	if m.route != 0 && !c.routes[m.route] {
		c.find(m.id, "it came by route %d, which is not there", m.route)
	}
	switch kind := beeos.MessageType(m.kind); {
	case kind == beeos.ChatMessage && m.agent == "":
		ch.copied[m.id] = true
	case kind == beeos.ChatMessage:
		ch.asked[m.id] = false
		ch.requests = append(ch.requests, m.id)
		if d := c.open[m.id]; d != nil && d.channel == m.channel && d.off == m.off {
			d.found = true
		}
	case m.terminal:
		ch.takeFinalReply(c, m)
		ch.gapsFine = true
	case kind == beeos.AgentInputRequired, kind == beeos.AgentAuthRequired:
		ch.gapsFine = true // of two who answer the second is refused
	}
}

func (ch *channel) takeFinalReply(c *checker, m *message) {
	ended, asked := ch.asked[m.inReplyTo]
	switch {
	case ended:
		c.find(m.inReplyTo, "the request has a second final reply, %s", m.id)
	case asked:
		ch.asked[m.inReplyTo] = true
	case ch.copied[m.inReplyTo], len(ch.requests) == 0: // of what was said before a replay the beginning may be missing
	default:
		c.find(m.id, "it is the final reply to %s, which is not before it in channel %s", m.inReplyTo, ch.id)
	}
}

func (ch *channel) checkOffset(c *checker, m *message) {
	if m.off > ch.expected {
		ch.noteGap(c, m.off-1)
	}
	if ch.known && (m.off < 1 || m.off >= ch.next) {
		c.find(m.id, "it is at offset %d of channel %s, which has handed out those up to %d", m.off, ch.id, ch.next-1)
	}
	ch.expected = m.off + 1
}

// noteGap tells of offsets without a message, up to last, unless messages may have
// been refused there.
func (ch *channel) noteGap(c *checker, last int64) {
	if !ch.gapsFine && !ch.closed {
		c.find(ch.id, "the channel has no message at offsets %d to %d", ch.expected, last)
	}
}

// end looks at what the channel has come to. Nothing was read yet when it is nil.
func (ch *channel) end(c *checker) {
	if ch == nil {
		return
	}
	if ch.known && ch.expected < ch.next {
		ch.noteGap(c, ch.next-1)
	}
	for _, id := range ch.requests {
		switch ended, open := ch.asked[id], c.open[id] != nil; {
		case !ended && !open:
			c.find(id, "the request has no final reply, and is not under way either")
		case ended && open:
			c.find(id, "the request has its final reply, and is still under way")
		}
	}
}
