package llm

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	openai "github.com/sashabaranov/go-openai"
)

// openAIModel is a service that speaks OpenAI's chat completions.
type openAIModel struct {
	client *openai.Client
	model  string
	hint   string
}

func newOpenAI(s Settings) *openAIModel {
	c := openai.DefaultConfig(s.Key)
	c.BaseURL = cmp.Or(s.URL, c.BaseURL)
	c.HTTPClient = OpenAIFiles{s.HTTP}
	return &openAIModel{client: openai.NewClientWithConfig(c), model: s.Model, hint: s.Hint}
}

// Models lists the service's models, and the configured one, which a service
// need not list.
func (c *openAIModel) Models(ctx context.Context) ([]string, error) {
	list, err := c.client.ListModels(ctx)
	if err != nil || len(list.Models) == 0 {
		return nil, err
	}
	names := []string{c.model}
	for _, m := range list.Models {
		if m.ID != c.model {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

func (c *openAIModel) Stream(ctx context.Context, r Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.client.CreateChatCompletionStream(ctx, c.request(r))
		if err != nil {
			yield(Delta{}, c.describeError(ctx, err))
			return
		}
		defer stream.Close()
		var calls callPieces
		var stop Stop
		for {
			got, err := stream.Recv()
			if errors.Is(err, io.EOF) && stop != "" {
				break
			}
			if err != nil {
				yield(Delta{}, c.describeError(ctx, err))
				return
			}
			if u := got.Usage; u != nil && !yield(Delta{Usage: &Usage{u.PromptTokens, u.CompletionTokens}}, nil) {
				return
			}
			for _, choice := range got.Choices {
				d := Delta{Text: choice.Delta.Content + choice.Delta.Refusal, Reasoning: choice.Delta.ReasoningContent}
				if (d.Text != "" || d.Reasoning != "") && !yield(d, nil) {
					return
				}
				calls.add(choice.Delta.ToolCalls)
				if choice.FinishReason != "" {
					stop = openAIStop(string(choice.FinishReason))
				}
			}
		}
		for _, call := range calls.whole() {
			if !stop.CutOff() {
				stop = StopTools // some services say "stop" beside a call
			}
			if !yield(Delta{Call: call}, nil) {
				return
			}
		}
		yield(Delta{Stop: stop}, nil)
	}
}

// describeError turns what the client library reports into what people read.
func (c *openAIModel) describeError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var api *openai.APIError
	var request *openai.RequestError
	switch {
	case errors.As(err, &api) && api.HTTPStatusCode > 0:
		return serviceError(c.hint, api.HTTPStatusCode, api.Message)
	case errors.As(err, &api): // in the middle of a stream
		return serviceError(c.hint, 500, api.Message)
	case errors.As(err, &request) && request.HTTPStatusCode > 0:
		return serviceError(c.hint, request.HTTPStatusCode, string(request.Body))
	}
	return errors.Join(errBroken, err)
}

func openAIStop(reason string) Stop {
	switch reason {
	case "length":
		return StopLength
	case "content_filter":
		return StopFilter
	case "tool_calls", "function_call":
		return StopTools
	}
	return StopEnd
}

func (c *openAIModel) request(r Request) openai.ChatCompletionRequest {
	q := openai.ChatCompletionRequest{
		Model: cmp.Or(r.Model, c.model), MaxCompletionTokens: r.MaxTokens,
		Stream: true, StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	if r.System != "" {
		q.Messages = append(q.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	for _, m := range r.Messages {
		message := openai.ChatCompletionMessage{Role: string(m.Role), ToolCallID: m.CallID}
		SetOpenAIContent(&message, m)
		for _, call := range m.Calls {
			message.ToolCalls = append(message.ToolCalls, openai.ToolCall{
				ID: call.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: call.Name, Arguments: string(call.arguments())},
			})
		}
		q.Messages = append(q.Messages, message)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.schema(),
		}})
	}
	return q
}

// callPieces are tool calls that come bit by bit, by their index.
type callPieces map[int]*openai.ToolCall

func (p *callPieces) add(bits []openai.ToolCall) {
	if *p == nil {
		*p = callPieces{}
	}
	for i, bit := range bits {
		if bit.Index != nil {
			i = *bit.Index
		}
		call := (*p)[i]
		if call == nil {
			call = &openai.ToolCall{}
			(*p)[i] = call
		}
		call.ID = cmp.Or(call.ID, bit.ID)
		call.Function.Name += bit.Function.Name
		call.Function.Arguments += bit.Function.Arguments
	}
}

func (p callPieces) whole() (calls []*Call) {
	for _, i := range slices.Sorted(maps.Keys(p)) {
		calls = append(calls, wholeCall(p[i].ID, p[i].Function.Name, p[i].Function.Arguments))
	}
	return calls
}
