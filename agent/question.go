package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
)

// errDisconnected fails the questions that a lost connection took with it.
var errDisconnected = errors.New("the connection to the gateway was lost before the answer came")

// questionKey is what an answer names its question by. What is asked of a caller
// or of another agent has no turn here, for its answer does not say one; it fails
// with its connection. An approval or a pause is asked again on the next one.
type questionKey struct{ turn, request string }

// question waits for its answer.
type question struct {
	frame  []byte
	answer chan beeos.Frame // has room for one; closed when the connection was lost
}

// pose sends a question and waits for its answer, or for more, which a person
// may say instead. what names the question in errors.
func (r *Reply) pose(ctx context.Context, what string, f beeos.Frame, more <-chan beeos.Frame) (got beeos.Frame, err error) {
	key := questionKey{r.m.ID, f.RequestID}
	if f.Type == beeos.FrameRequest {
		key.turn = ""
	}
	f.MessageID = r.m.ID
	q := &question{frame: encode(f), answer: make(chan beeos.Frame, 1)}
	if err := r.openQuestion(key, q); err != nil {
		return got, fmt.Errorf("%s: %w", what, err)
	}
	defer r.a.closeQuestion(key)
	r.a.send(q.frame)
	select {
	case got, ok := <-q.answer:
		switch {
		case !ok:
			return got, fmt.Errorf("%s: %w", what, errDisconnected)
		case got.Error != nil:
			return got, fmt.Errorf("%s: %w", what, &beeos.Error{Code: beeos.Code(got.Error.Code), Message: got.Error.Message})
		}
		return got, nil
	case got = <-more:
		return got, nil
	case <-ctx.Done():
		return got, context.Cause(ctx)
	case <-r.ctx.Done():
		return got, context.Cause(r.ctx)
	}
}

// openQuestion notes that q waits for an answer.
func (r *Reply) openQuestion(key questionKey, q *question) error {
	if len(q.frame) > maxReply {
		return errTooLarge
	}
	if r.hasEnded() {
		return ErrEnded
	}
	r.a.mu.Lock()
	defer r.a.mu.Unlock()
	if r.a.questions[key] != nil {
		return fmt.Errorf("%q waits for a decision already; give each call a key of its own", key.request)
	}
	if key.turn == "" && r.a.link == nil {
		return errDisconnected
	}
	r.a.questions[key] = q
	return nil
}

func (a *Agent) closeQuestion(key questionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.questions, key)
}

// answerQuestion hands an answer, or that there is none, to whoever asked.
func (a *Agent) answerQuestion(f beeos.Frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range []questionKey{{f.MessageID, f.RequestID}, {"", f.RequestID}} {
		if q := a.questions[key]; q != nil {
			delete(a.questions, key)
			q.answer <- f
		}
	}
}

// lastingQuestions returns what a turn asks again on a new connection.
func (a *Agent) lastingQuestions(turn string) (frames [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, q := range a.questions {
		if key.turn == turn {
			frames = append(frames, q.frame)
		}
	}
	return frames
}

// dropQuestions fails what a lost connection takes with it. a.mu is held.
func (a *Agent) dropQuestions() {
	for key, q := range a.questions {
		if key.turn == "" {
			delete(a.questions, key)
			close(q.answer)
		}
	}
}
