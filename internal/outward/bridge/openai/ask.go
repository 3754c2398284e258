package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/llm"
)

// answer is how the model answered.
type answer struct {
	said          bool // something
	refusal       string
	finish        openai.FinishReason
	input, output int64 // tokens; 0 = the endpoint does not say
}

// ask puts the question to the model once, passes on what it says, and tells what
// that took as a step of the answer.
func (a *model) ask(ctx context.Context, messages []llm.Message, r *agent.Reply) (got answer, err error) {
	step := r.Step(a.name, agent.StepModel).Set("provider", llm.OpenAI)
	defer func() {
		step.Tokens(a.name, got.input, got.output)
		if got.finish != "" {
			step.Set("finish", string(got.finish))
		}
		if err != nil {
			err := a.publicError(ctx, err)
			step.End(err)
			return
		}
		step.End(nil)
	}()
	stream, err := a.open(step.Context(ctx), messages)
	if err != nil {
		return got, err
	}
	defer stream.Close()
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got.take(&piece, r)
	}
}

// open begins to ask. Not every endpoint takes the question what the answer will
// have taken; then it is not asked again.
func (a *model) open(ctx context.Context, messages []llm.Message) (*openai.ChatCompletionStream, error) {
	stream, err := a.client.CreateChatCompletionStream(ctx, a.request(messages))
	if err == nil || a.noUsage.Load() || !refusesOptions(err) {
		return stream, err
	}
	a.noUsage.Store(true)
	return a.client.CreateChatCompletionStream(ctx, a.request(messages))
}

// refusesOptions reports whether an endpoint refused a request because of its
// stream_options.
func refusesOptions(err error) bool {
	e, ok := errors.AsType[*openai.APIError](err)
	return ok && (e.HTTPStatusCode == http.StatusBadRequest || e.HTTPStatusCode == http.StatusUnprocessableEntity) && strings.Contains(e.Message, "stream_options")
}

// take takes in a piece of the answer and passes it on.
func (got *answer) take(piece *openai.ChatCompletionStreamResponse, r *agent.Reply) {
	if u := piece.Usage; u != nil {
		got.input, got.output = int64(u.PromptTokens), int64(u.CompletionTokens)
	}
	if len(piece.Choices) == 0 {
		return
	}
	c := piece.Choices[0]
	_ = r.Reasoning(c.Delta.ReasoningContent) // who gave up is told by the context
	_ = r.Delta(c.Delta.Content)
	got.said = got.said || c.Delta.Content != ""
	got.refusal += c.Delta.Refusal
	if c.FinishReason != "" && c.FinishReason != openai.FinishReasonNull {
		got.finish = c.FinishReason
	}
}
