// Package calls is the record of calls: who called what, how it came out and how
// long it took, in small numbers. The record is part of the messages, written by the
// ledger with the request and its reply (record.go has what the numbers mean); here
// it is searched (find.go). Beside it stand the sums of what answers took (usage.go)
// and those that charts are drawn of (series.go).
package calls

import (
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
	AgentID    string
	Caller     string // a Caller.Principal
	Credential string // a Caller.CredentialID; empty = a person who is signed in
	Surface    string // mcp, a2a, rest, web, agent
	Tool       string // empty = the agent itself
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

// Problems are the outcomes that an owner may have to do something about.
func Problems() []Outcome { return []Outcome{Failed, Refused, Busy, TimedOut, Lost} }

// IsProblem reports whether it is one of Problems.
func (o Outcome) IsProblem() bool { return o > OK && o != Canceled }

// Ended are all outcomes of calls that are over.
func Ended() (list []Outcome) {
	for o := range outcomeNames {
		list = append(list, Outcome(o))
	}
	return list
}

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

// Key is where a call stands in the order of calls: the time in the id of its
// request, in 4096ths of a millisecond. Ids of one process never share one, those
// of several processes rarely.
func Key(turn string) int64 {
	key, whole := readKey(turn)
	if !whole {
		h := fnv.New64a()
		h.Write([]byte(turn)) //nolint:errcheck // a hash takes everything
		return int64(h.Sum64() >> 4)
	}
	return key
}

// LastKey is the largest key of a request whose id stands before this text, which
// need not be an id that anybody has made.
func LastKey(before string) int64 {
	key, _ := readKey(before)
	return key
}

// KeyOf is the key of the first call that can have begun at t.
func KeyOf(t time.Time) int64 {
	return t.UnixMilli()<<12 | int64(t.Nanosecond()%1e6)<<12/1e6
}

// began is when the call with this key did.
func began(n int64) time.Time {
	return time.UnixMilli(n >> 12).Add(time.Duration(n & 0xfff * 1e6 >> 12)).UTC().Truncate(time.Microsecond)
}

// keyDigits are where an id has its time: 48 bits of milliseconds, and 12 more
// after the digit of its version.
var keyDigits = [...]int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 15, 16, 17}

// readKey reads the key off an id. Of a text that is none, what is missing counts
// as the highest digit: no id that begins like it stands behind that.
func readKey(id string) (key int64, whole bool) {
	whole = true
	for _, at := range keyDigits {
		digit := 0xf
		if whole = whole && at < len(id) && strings.IndexByte(hexDigits, id[at]) >= 0; whole {
			digit = strings.IndexByte(hexDigits, id[at])
		}
		key = key<<4 | int64(digit)
	}
	return key, whole
}

const hexDigits = "0123456789abcdef"
