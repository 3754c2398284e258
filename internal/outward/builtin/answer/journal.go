package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/wire/outbound"
)

const (
	retryEvery = time.Second     // when a step cannot be written down
	endWithin  = 5 * time.Second // how long a call's answer may take to be

	// StepsKept is how long it is known exactly what was done for a request.
	StepsKept = 24 * time.Hour
)

// journal is what was done for a request so far. It is written before each
// step is acted upon, so whoever gets the request after a crash goes on where
// it ended: the model is not asked again for what it has said, and no call is
// made a second time. Of two instances at work on one request, each takes the
// steps that the other has not taken.
type journal struct {
	a      *Agent
	turn   string
	said   map[int]modelWords
	calls  map[callPlace]builtins.Step
	forked int // the steps before this one were done for another request; 0 = none
}

// modelWords is an answer of the model's that asks for calls.
type modelWords struct {
	Text   string     `json:"text,omitempty"`
	Calls  []llm.Call `json:"calls"`
	Tokens int        `json:"tokens,omitempty"`
	Begun  bool       `json:"-"` // something has come of it

	// For people to look at.
	Input     int    `json:"input,omitempty"` // of Tokens
	Output    int    `json:"output,omitempty"`
	Estimated bool   `json:"estimated,omitempty"` // the service did not tell
	Finish    string `json:"finish,omitempty"`    // why the model stopped, where it said so
}

// callPlace is where a call stands: in which answer of the model's, and as which
// of its calls, both from 1.
type callPlace struct{ step, call int }

// key is the call's name before the approval gate.
func (p callPlace) key() string { return fmt.Sprintf("step-%d-%d", p.step, p.call) }

// Where the steps of an answer come from, if they were not taken just now.
const (
	fromCrash = "from before a crash"
	fromFork  = "of the call that was forked"
)

// origin says where a step that is known already comes from.
func (j *journal) origin(step int) string {
	if step < j.forked {
		return fromFork
	}
	return fromCrash
}

// openJournal reads the journal of a request. That of a fork begins with what was
// done for the other request.
func (a *Agent) openJournal(ctx context.Context, turn string, trial *beeos.Trial) (*journal, error) {
	j := &journal{a: a, turn: turn, said: map[int]modelWords{}, calls: map[callPlace]builtins.Step{}}
	if trial != nil && trial.Fork != "" {
		j.forked = trial.Step
	}
	var steps []builtins.Step
	err := j.retryFaults(ctx, func() (err error) {
		if j.forked > 0 {
			if err := a.Steps.ForkSteps(ctx, a.ID, trial.Fork, turn, trial.Step, a.Now()); err != nil {
				return err
			}
		}
		steps, err = a.Steps.ListSteps(ctx, turn)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		if s.Call > 0 {
			j.calls[callPlace{s.Step, s.Call}] = s
		} else if j.said[s.Step], err = readWords(s); err != nil {
			return nil, err
		}
	}
	for step := 1; step < j.forked; step++ {
		if _, ok := j.said[step]; !ok {
			return nil, ErrStepsForgotten
		}
	}
	return j, nil
}

// ErrStepsForgotten is for a fork that comes too late.
var ErrStepsForgotten = beeos.Errorf(beeos.Conflict, "what the agent did for this call, step by step, is known for %d hours and no longer; replay the call from its beginning", int(StepsKept.Hours()))

// keepWords keeps an answer of the model's and returns the one that counts, which
// is another instance's if that was first. Also one's own is returned as it was
// kept: the arguments that are approved and sent are the same ones, byte for
// byte, whoever goes on.
func (j *journal) keepWords(ctx context.Context, step int, w modelWords) (modelWords, error) {
	text, err := beeos.EncodeJSON(w) // arguments stay as the model wrote them
	if err != nil {
		return w, fmt.Errorf("keep the model's answer: %w", err)
	}
	kept, _, err := j.takeStep(ctx, builtins.Step{Step: step, Done: true, Content: string(text)})
	if err != nil {
		return w, err
	}
	return readWords(kept)
}

// pastCall returns what came of a call that was made before, or may have been.
func (j *journal) pastCall(p callPlace) (skill.Result, bool) {
	s, ok := j.calls[p]
	return stepOutcome(s), ok
}

// beginCall notes that a call is about to be made. Unless mine, somebody else makes
// it or has made it, and got is what is known of that.
func (j *journal) beginCall(ctx context.Context, p callPlace) (got skill.Result, mine bool, err error) {
	kept, mine, err := j.takeStep(ctx, builtins.Step{Step: p.step, Call: p.call, Content: "{}"})
	return stepOutcome(kept), mine, err
}

// refuseCall notes that a call is not made, so that nobody makes it later on.
func (j *journal) refuseCall(ctx context.Context, p callPlace, why skill.Result) skill.Result {
	kept, mine, err := j.takeStep(ctx, builtins.Step{Step: p.step, Call: p.call, Done: true, Content: encodeResult(why)})
	if err != nil || mine {
		return why // the next step fails as well
	}
	return stepOutcome(kept)
}

// endCall notes what a call came to, also when whoever wanted it has gone.
func (j *journal) endCall(ctx context.Context, p callPlace, got skill.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if err := j.a.Steps.EndStep(ctx, builtins.Step{Turn: j.turn, Step: p.step, Call: p.call, Content: encodeResult(got)}); err != nil {
		j.a.Log.Error("the answer of a tool is not kept; after a crash it would be unknown", "turn", j.turn, "err", err)
	}
}

// takeStep writes a step down.
func (j *journal) takeStep(ctx context.Context, s builtins.Step) (kept builtins.Step, mine bool, err error) {
	s.Turn = j.turn
	err = j.retryFaults(ctx, func() (err error) {
		kept, mine, err = j.a.Steps.TakeStep(ctx, j.a.ID, s, j.a.Now())
		return err
	})
	return kept, mine, err
}

// retryFaults does something again and again, through faults of the database that
// may pass.
func (j *journal) retryFaults(ctx context.Context, do func() error) error {
	for {
		err := do()
		var ours *beeos.Error
		if err == nil || errors.As(err, &ours) {
			return err
		}
		if ctx.Err() == nil {
			j.a.Log.Error("the steps of an answer cannot be kept; trying again", "turn", j.turn, "err", err)
		}
		if err := outbound.Wait(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// lostResult is what the model hears about a call whose answer nobody has.
var lostResult = failedResult("the agent was interrupted while it made this call: it may have been carried out; its result is not known. " +
	"Find out before you make it again, or say so.")

// stepOutcome returns what a step says about its call.
func stepOutcome(s builtins.Step) (got skill.Result) {
	if !s.Done || json.Unmarshal([]byte(s.Content), &got) != nil {
		return lostResult
	}
	return got
}

func encodeResult(r skill.Result) string {
	text, _ := json.Marshal(r) // a text and a bool
	return string(text)
}

func readWords(s builtins.Step) (w modelWords, err error) {
	if err := json.Unmarshal([]byte(s.Content), &w); err != nil {
		return w, fmt.Errorf("read the model's answer: %w", err)
	}
	return w, nil
}
