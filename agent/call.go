package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/beeos/beeos"
)

// Call asks another agent, by its id or by the name that it has with the same
// owner, and returns the text of its answer. It reaches what the owner reaches.
// An answer that the other agent calls a failure is an error. Agents that call
// each other in a circle, or too many in a row, are stopped. Calls are made
// once: when this message is given to another instance, the calls that it makes
// in the same order get the answers of the first ones.
func (r *Reply) Call(ctx context.Context, agent, message string) (string, error) {
	params, err := beeos.EncodeJSON(map[string]string{"agent": agent, "message": message})
	if err != nil {
		return "", fmt.Errorf("call %s: %w", agent, err)
	}
	raw, err := r.put(ctx, ask{key: r.nextKey("call"), method: beeos.MethodCallAgent, params: params})
	if err != nil {
		return "", fmt.Errorf("call %s: %w", agent, err)
	}
	var answer struct {
		Text    string `json:"text"`
		IsError bool   `json:"is_error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("call %s: %w", agent, err)
	}
	if answer.IsError {
		return answer.Text, fmt.Errorf("agent %s failed: %s", agent, answer.Text)
	}
	return answer.Text, nil
}
