package bus

import (
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Messages of the bus have a version. The first has no mark, so that it costs
// nothing: new members of a message, new kinds of control messages and new subjects
// are no new version, as nodes leave alone what they do not know. What a node of
// this version would misunderstand is sent with a mark, and only by a program whose
// neighbour, the version before it, understands that already (docs/how-to/upgrading.md).
const (
	headerVersion = "v"
	version       = "1"
)

// versions remembers whether this node has said that it cannot read a message.
type versions struct{ said atomic.Bool }

// reads reports whether this node may read a message.
func (v *versions) reads(b *Bus, m *nats.Msg) bool {
	got := m.Header.Get(headerVersion)
	if got == "" || got == version {
		return true
	}
	if !v.said.Swap(true) {
		b.log.Warn("bus: a newer node sends what this one cannot read and leaves alone; upgrade this node", "subject", m.Subject, "version", got)
	}
	return false
}

// refuse tells the sender of a question at once that this node cannot read it.
func refuse(m *nats.Msg) error {
	if m.Reply == "" {
		return nil
	}
	reply := nats.NewMsg(m.Reply)
	reply.Header.Set("Status", "503") // as NATS itself says that nobody is there
	return m.RespondMsg(reply)
}
