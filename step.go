package beeos

// Step is something that an agent did on its way to an answer, as it tells: a
// tool it used, a model it asked, what it looked up. Times count from the moment
// at which it was given the request, so that its clock does not matter.
type Step struct {
	Name         string            `json:"name"`
	Kind         StepKind          `json:"kind,omitempty"`
	Parent       int               `json:"parent,omitempty"` // which step of the list it is part of, from 1; 0 = none
	AfterUS      int64             `json:"after_us"`         // when it began
	TookUS       int64             `json:"took_us"`
	Error        string            `json:"error,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
	Model        string            `json:"model,omitempty"`
	InputTokens  int64             `json:"input_tokens,omitempty"`
	OutputTokens int64             `json:"output_tokens,omitempty"`
}

// StepKind says what was done.
type StepKind string

const (
	StepTool      StepKind = "tool"
	StepModel     StepKind = "model"
	StepRetrieval StepKind = "retrieval"
	StepOther     StepKind = "other"
)

// What of an agent's steps is kept with its answer.
const (
	MaxSteps     = 200
	MaxStepBytes = 64 << 10 // of all of them, as JSON
)
