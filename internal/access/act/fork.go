package act

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
)

// A fork is a replay that shares the beginning of an answer: what a built-in agent
// had been told by its model and its tools until a step stays as it was, and from
// there on the model is asked again, with another prompt or another model. A step
// here is one question to the model, with the tool calls that it wanted.

// chooseStep settles from which step on a replay asks the model again.
func (a *Acts) chooseStep(ctx context.Context, call *sight.Call, target *beeos.Agent, r *Replay, mayTry bool, trial *beeos.Trial) error {
	if r.AtStep == 0 && trial.Fork != "" {
		r.AtStep = trial.Step // a fork that is replayed is one again
	}
	if trial.Fork, trial.Step = "", 0; r.AtStep == 0 {
		return nil
	}
	asked := countAsked(call)
	switch {
	case !mayTry || target.ID != call.AgentID:
		return beeos.Errorf(beeos.Conflict, "a call can be taken up at a step only by the agent that answered it, and if that is a built-in agent of yours; leave at_step out")
	case r.Text != nil || len(r.Arguments) > 0:
		return beeos.Errorf(beeos.InvalidParam, "what was done until step %d answers the request as it was; change the request, or name a step, not both", r.AtStep)
	case asked == 0:
		return beeos.Errorf(beeos.Conflict, "no model was asked for this call, so there is no step to take it up at; leave at_step out")
	case r.AtStep < 1 || r.AtStep > asked:
		return beeos.Errorf(beeos.InvalidParam, "the model was asked %d times for this call; choose a step from 1 to %d", asked, asked)
	case r.AtStep == 1:
		return nil // there is nothing before it
	}
	known, err := a.DB.Builtins.LastStep(ctx, call.ID)
	if err != nil {
		return err
	}
	if known < r.AtStep-1 {
		return answer.ErrStepsForgotten
	}
	trial.Fork, trial.Step = call.ID, r.AtStep
	return nil
}

// countAsked returns how often a model was asked for a call.
func countAsked(call *sight.Call) (n int) {
	for i := range call.Steps {
		if call.Steps[i].Kind == beeos.StepModel {
			n++
		}
	}
	return n
}

// stepsFrom leaves out what was done before a model was asked for the n-th time.
func stepsFrom(steps []beeos.Step, n int) []beeos.Step {
	if n <= 1 {
		return steps
	}
	for i := range steps {
		if steps[i].Kind != beeos.StepModel {
			continue
		}
		if n--; n == 0 {
			return steps[i:]
		}
	}
	return nil
}
