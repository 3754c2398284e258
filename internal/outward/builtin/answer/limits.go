package answer

import (
	"cmp"
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
	Wall   time.Duration `json:"wall,omitempty"`   // from the message to the answer; waiting for a person does not count
}

var defaults = Limits{Turns: 20, Calls: 50, Tokens: 500_000, Wall: 10 * time.Minute}

// most is what nobody gets more of.
var most = Limits{Turns: 200, Calls: 1000, Tokens: 10_000_000, Wall: time.Hour}

// Check fills the limits and refuses more than anybody gets. maxTokens is what
// the operator allows, if that is less.
func (l *Limits) Check(maxTokens int) error {
	asked := l.Tokens
	l.Fill()
	if l.Turns > most.Turns || l.Calls > most.Calls || l.Tokens > most.Tokens || l.Wall > most.Wall {
		return beeos.Errorf(beeos.InvalidParam, "one answer may have at most %d turns, %d calls of tools, %d tokens and %s", most.Turns, most.Calls, most.Tokens, most.Wall)
	}
	if maxTokens > 0 && asked > maxTokens {
		return beeos.Errorf(beeos.InvalidParam, "one answer may use at most %d tokens on this server, and the limit says %d; lower it, or ask the operator (BEEOS_ANSWER_TOKENS)", maxTokens, asked)
	}
	l.CapTokens(maxTokens)
	return nil
}

// CapTokens lowers the limit of tokens to what the operator allows; 0 = anything.
func (l *Limits) CapTokens(most int) {
	if most > 0 {
		l.Tokens = min(l.Tokens, most)
	}
}

// Fill puts the defaults where nothing was said.
func (l *Limits) Fill() {
	l.Turns = cmp.Or(max(l.Turns, 0), defaults.Turns)
	l.Calls = cmp.Or(max(l.Calls, 0), defaults.Calls)
	l.Tokens = cmp.Or(max(l.Tokens, 0), defaults.Tokens)
	l.Wall = cmp.Or(max(l.Wall, 0), defaults.Wall)
}

// errWall is the cause of a context whose time for one answer is over.
var errWall = errors.New("the time for one answer is over")

// used is what an answer has used up.
type used struct {
	turns, calls, tokens int
}

// limitReached says which limit an answer has reached before its next turn, in words
// for the caller; empty = none.
func (u used) limitReached(l Limits) string {
	switch {
	case u.turns >= l.Turns:
		return fmt.Sprintf("I stopped here: one answer may ask the model %d times. Tell me to go on if I should.", l.Turns)
	case u.tokens >= l.Tokens:
		return tokenLimitReached(l, u.tokens)
	}
	return ""
}

// bytesPerToken is about what there is in a token, for services that do not count.
const bytesPerToken = 4

func tokenLimitReached(l Limits, used int) string {
	return fmt.Sprintf("I stopped here: one answer may use %d tokens, and this one has used %d. Tell me to go on if I should.", l.Tokens, used)
}

// callLimitReached is limitReached for tools that the model asks for.
func (u used) callLimitReached(l Limits, more int) string {
	if u.calls+more <= l.Calls {
		return ""
	}
	return fmt.Sprintf("I stopped here: one answer may call %d tools. Tell me to go on if I should.", l.Calls)
}

// timeLimitReached says, in words for the caller, that the time is over.
func timeLimitReached(l Limits) string {
	return fmt.Sprintf("I stopped here: one answer may take %s. Ask for less at once, or as a task.", l.Wall)
}
