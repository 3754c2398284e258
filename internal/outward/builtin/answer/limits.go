package answer

import (
	"errors"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

// Limits bound one answer. Zero means the default.
type Limits struct {
	Turns  int           `json:"turns,omitempty"`  // times that the model is asked
	Calls  int           `json:"calls,omitempty"`  // of tools
	Tokens int           `json:"tokens,omitempty"` // read and written by the model
	Wall   time.Duration `json:"wall,omitempty"`   // from the message to the answer, approvals included
}

var defaults = Limits{Turns: 20, Calls: 50, Tokens: 500_000, Wall: 10 * time.Minute}

// most is what nobody gets more of.
var most = Limits{Turns: 200, Calls: 1000, Tokens: 10_000_000, Wall: time.Hour}

// Check fills the limits and refuses more than anybody gets.
func (l *Limits) Check() error {
	l.Fill()
	if l.Turns > most.Turns || l.Calls > most.Calls || l.Tokens > most.Tokens || l.Wall > most.Wall {
		return beeos.Errorf(beeos.InvalidParam, "one answer may have at most %d turns, %d calls of tools, %d tokens and %s", most.Turns, most.Calls, most.Tokens, most.Wall)
	}
	return nil
}

// Fill puts the defaults where nothing was said.
func (l *Limits) Fill() {
	if l.Turns <= 0 {
		l.Turns = defaults.Turns
	}
	if l.Calls <= 0 {
		l.Calls = defaults.Calls
	}
	if l.Tokens <= 0 {
		l.Tokens = defaults.Tokens
	}
	if l.Wall <= 0 {
		l.Wall = defaults.Wall
	}
}

// errWall is the cause of a context whose time for one answer is over.
var errWall = errors.New("the time for one answer is over")

// used is what an answer has used up.
type used struct {
	turns, calls, tokens int
}

// over says which limit an answer has reached before its next turn, in words
// for the caller; empty = none.
func (u used) over(l Limits) string {
	switch {
	case u.turns >= l.Turns:
		return fmt.Sprintf("I stopped here: one answer may ask the model %d times. Tell me to go on if I should.", l.Turns)
	case u.tokens >= l.Tokens:
		return fmt.Sprintf("I stopped here: one answer may use %d tokens, and this one has used %d. Tell me to go on if I should.", l.Tokens, u.tokens)
	}
	return ""
}

// overCalls is over for tools that the model asks for.
func (u used) overCalls(l Limits, more int) string {
	if u.calls+more <= l.Calls {
		return ""
	}
	return fmt.Sprintf("I stopped here: one answer may call %d tools. Tell me to go on if I should.", l.Calls)
}

// overTime says that the time is over.
func overTime(l Limits) string {
	return fmt.Sprintf("I stopped here: one answer may take %s. Ask for less at once, or as a task.", l.Wall)
}
