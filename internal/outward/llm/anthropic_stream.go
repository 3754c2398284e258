package llm

import (
	"encoding/json"
	"fmt"
)

// anthropicStream puts the events of one answer together.
type anthropicStream struct {
	usage     Usage
	stop      Stop
	call      *anthropicBlock // the tool_use that is being written
	arguments []byte
	done      bool
	hint      string // Settings.Hint
}

type anthropicEvent struct {
	Type    string `json:"type"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	ContentBlock anthropicBlock `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
	Error anthropicError `json:"error"`
}

type anthropicUsage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// read takes one event; an empty Delta says that there is nothing to tell yet.
func (s *anthropicStream) read(data []byte) (Delta, error) {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return Delta{}, fmt.Errorf("%w: %w", errBroken, err)
	}
	switch e.Type {
	case "message_start":
		s.usage.Input = e.Message.Usage.InputTokens
	case "content_block_start":
		if e.ContentBlock.Type == "tool_use" {
			s.call, s.arguments = &e.ContentBlock, nil
		}
		return Delta{Text: e.ContentBlock.Text}, nil
	case "content_block_delta":
		s.arguments = append(s.arguments, e.Delta.PartialJSON...)
		return Delta{Text: e.Delta.Text, Reasoning: e.Delta.Thinking}, nil
	case "content_block_stop":
		return s.endBlock(), nil
	case "message_delta":
		s.usage.Output = e.Usage.OutputTokens
		s.stop = anthropicStop(e.Delta.StopReason)
		usage := s.usage
		return Delta{Usage: &usage}, nil
	case "message_stop":
		s.done = true
		d := s.endBlock() // one that was cut off need not have ended
		d.Stop = s.stop
		return d, nil
	case "error":
		return Delta{}, serviceError(s.hint, anthropicStatus[e.Error.Type], e.Error.Message)
	}
	return Delta{}, nil // ping, and what later versions add
}

func (s *anthropicStream) endBlock() Delta {
	if s.call == nil {
		return Delta{}
	}
	arguments := s.arguments
	if len(arguments) == 0 {
		arguments = s.call.Input // of services that do not stream them
	}
	call := wholeCall(s.call.ID, s.call.Name, string(arguments))
	s.call, s.arguments = nil, nil
	return Delta{Call: call}
}

func anthropicStop(reason string) Stop {
	switch reason {
	case "tool_use":
		return StopTools
	case "max_tokens", "model_context_window_exceeded":
		return StopLength
	case "refusal":
		return StopFilter
	}
	return StopEnd
}

// anthropicStatus is the HTTP status for which an error in a stream stands.
var anthropicStatus = map[string]int{
	"overloaded_error": 529, "api_error": 500, "timeout_error": 504, "rate_limit_error": 429,
	"authentication_error": 401, "permission_error": 403, "not_found_error": 404, "invalid_request_error": 400,
}
