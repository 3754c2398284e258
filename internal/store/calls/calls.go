// Package calls is the record of calls that have ended: who called what, how it
// came out and how long it took, in small numbers. The ledger writes it in the
// transaction that ends a call (record.go has the form of its rows); here it is
// searched (find.go). What was said stays in the messages.
package calls

import (
	"encoding/hex"
	"hash/fnv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table is the record.
type Table struct{ db *database.DB }

// New returns the record in db.
func New(db *database.DB) *Table { return &Table{db: db} }

// Route is a way to an agent: calls that have all of this in common.
type Route struct {
	AgentID string
	Caller  string // a Caller.Principal
	Surface string // mcp, a2a, rest, web, agent, replay
	Tool    string // empty = the agent itself
}

// Outcome says how a call ended. The numbers are stored.
type Outcome int

const (
	OK Outcome = iota
	Failed
	Refused
	Busy
	Canceled
	TimedOut
	Lost // its agent went away

	Working Outcome = -1 // it has none yet; never stored
)

var outcomeNames = [...]string{OK: "ok", Failed: "failed", Refused: "refused", Busy: "busy", Canceled: "canceled", TimedOut: "timeout", Lost: "agent_lost"}

// Outcomes are the names of all outcomes.
func Outcomes() []string { return append(outcomeNames[:], Working.String()) }

func (o Outcome) String() string {
	if o == Working {
		return "working"
	}
	if o < 0 || int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

// ParseOutcome is the outcome with that name.
func ParseOutcome(name string) (Outcome, error) {
	for i, n := range outcomeNames {
		if n == name {
			return Outcome(i), nil
		}
	}
	if name == Working.String() {
		return Working, nil
	}
	return 0, beeos.Errorf(beeos.InvalidParam, "there is no outcome %q; it is one of %s", name, strings.Join(Outcomes(), ", "))
}

// OutcomeOf is how a call with this terminal reply ended.
func OutcomeOf(m *beeos.Message) Outcome {
	switch {
	case m.State == beeos.StateCancelled:
		return Canceled
	case m.Type == beeos.AgentRefuse:
		return Refused
	case m.Type == beeos.AgentBusy:
		return Busy
	case m.Type == beeos.AgentReply:
		return OK
	case m.StopReason == beeos.StopTimeout:
		return TimedOut
	case m.StopReason == beeos.StopAgentLost:
		return Lost
	}
	return Failed
}

// spare are the lowest bits of a key: what of it is not time.
const spare = 9

// Key is where the call with this request stands in the record: by the time in
// its id, to a quarter of a microsecond. Ids of one process never share a time;
// for those of several a few random bits are added, and who still meets another
// takes the place after it.
func Key(turn string) int64 {
	id := encodeID(turn)
	if len(id) != idBytes {
		h := fnv.New64a()
		h.Write(id) //nolint:errcheck // a hash takes everything
		return int64(h.Sum64() >> 1)
	}
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	tick := ms<<12 | int64(id[6]&0x0f)<<8 | int64(id[7])
	return tick<<spare | int64(id[8]&0x01)<<8 | int64(id[9])
}

// KeyOf is the key of the first call that can have begun at t.
func KeyOf(t time.Time) int64 {
	return (t.UnixMilli()<<12 | int64(t.Nanosecond()%1e6)<<12/1e6) << spare
}

// began is when the call with this key did.
func began(n int64) time.Time {
	tick := n >> spare
	return time.UnixMilli(tick >> 12).Add(time.Duration(tick & 0xfff * 1e6 >> 12)).UTC().Truncate(time.Microsecond)
}

const idBytes = 16

// encodeID is an id as it is stored: a UUID in 16 bytes, anything else as it is.
func encodeID(id string) []byte {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return []byte(id)
	}
	b, err := hex.DecodeString(id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:])
	if err != nil || formatID(b) != id {
		return []byte(id)
	}
	return b
}

// decodeID is the id that was stored.
func decodeID(b []byte) string {
	if len(b) != idBytes {
		return string(b)
	}
	return formatID(b)
}

func formatID(b []byte) string {
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
