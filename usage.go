package beeos

// Usage is what an answer took of one model. An agent tells it with its answer:
// as the tokens of its steps, or, where it tells no steps or not all of them, by
// itself; then it alone counts.
type Usage struct {
	Model        string  `json:"model"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"` // when the agent knows it; else the price list says
}

// What of an agent's usage is counted.
const (
	MaxUsage  = 20                // models of one answer; those after them are left out
	MaxTokens = 1_000_000_000_000 // of one model in one answer
)

// UsageOf adds up what steps took, by model, in the order in which these first
// came.
func UsageOf(steps []Step) []Usage {
	var list []Usage
	for i := range steps {
		s := &steps[i]
		if s.InputTokens <= 0 && s.OutputTokens <= 0 {
			continue
		}
		list = AddUsage(list, Usage{Model: s.Model, InputTokens: s.InputTokens, OutputTokens: s.OutputTokens})
	}
	return list
}

// AddUsage adds more of a model to a list.
func AddUsage(list []Usage, more Usage) []Usage {
	for i := range list {
		if u := &list[i]; u.Model == more.Model {
			u.InputTokens += more.InputTokens
			u.OutputTokens += more.OutputTokens
			u.CostUSD += more.CostUSD
			return list
		}
	}
	return append(list, more)
}
