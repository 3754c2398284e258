package check

import (
	"context"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

func tellSteps(ctx context.Context, w *world) error {
	if err := w.expectTool(ctx, "steps", struct{}{}, "done"); err != nil {
		return err
	}
	for one, err := range w.client().Calls(ctx, client.CallFilter{AgentID: w.id, Tool: "steps"}) {
		if err != nil {
			return err
		}
		detail, err := w.client().Call(ctx, one.ID)
		if err != nil {
			return err
		}
		return checkSteps(detail.Steps)
	}
	return errors.New("the call is not in the list of calls")
}

func checkSteps(steps []beeos.Step) error {
	if len(steps) != 2 {
		return fmt.Errorf("the call has %d steps, want 2: %+v", len(steps), steps)
	}
	search, ask := steps[0], steps[1]
	if search.Name != "search" || search.Kind != beeos.StepTool || search.Attributes["found"] != "3" {
		return fmt.Errorf("the first step is %+v", search)
	}
	if ask.Name != "ask" || ask.Kind != beeos.StepModel || ask.Parent != 1 || ask.Model != "check-model" || ask.InputTokens != 7 || ask.OutputTokens != 5 {
		return fmt.Errorf("the second step is %+v", ask)
	}
	return nil
}

func tellUsage(ctx context.Context, w *world) error {
	before, err := findUsage(ctx, w)
	if err != nil {
		return err
	}
	if err := w.expectTool(ctx, "usage", struct{}{}, "done"); err != nil {
		return err
	}
	after, err := findUsage(ctx, w)
	if err != nil {
		return err
	}
	in, out := after.InputTokens-before.InputTokens, after.OutputTokens-before.OutputTokens
	if in != 11 || out != 13 || after.CostUSD == nil {
		return fmt.Errorf("%d tokens in and %d out are counted, want 11 and 13, with what they cost", in, out)
	}
	return nil
}

// findUsage returns what the agent's answers took of the model of tool usage.
func findUsage(ctx context.Context, w *world) (client.Usage, error) {
	list, err := w.client().Usage(ctx, client.UsageFilter{AgentID: w.id, By: []string{"model"}})
	for _, one := range list {
		if one.Model == "check-usage" {
			return one, err
		}
	}
	return client.Usage{}, err
}
