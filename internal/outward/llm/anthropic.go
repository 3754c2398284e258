package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/beeos/beeos/internal/wire/outbound"
)

const (
	anthropicURL     = "https://api.anthropic.com"
	anthropicVersion = "2023-06-01"
	anthropicTokens  = 8192 // the service wants a limit
	longestLine      = 8 << 20
)

// anthropicModel is Anthropic's service.
type anthropicModel struct {
	http                  *http.Client
	url, key, model, hint string
}

func newAnthropic(s Settings) *anthropicModel {
	base := strings.TrimSuffix(strings.TrimRight(cmp.Or(s.URL, anthropicURL), "/"), "/v1")
	return &anthropicModel{http: s.HTTP, url: base + "/v1/messages", key: s.Key, model: s.Model, hint: s.Hint}
}

func (m *anthropicModel) Stream(ctx context.Context, r Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		body, err := m.open(ctx, r)
		if err != nil {
			yield(Delta{}, err)
			return
		}
		defer body.Close()
		s := &anthropicStream{hint: m.hint}
		broken := io.ErrUnexpectedEOF
		for ev, err := range outbound.ReadEvents(body, longestLine) {
			if err != nil {
				broken = errors.Unwrap(err)
				break
			}
			if ev.Data == "" {
				continue
			}
			d, err := s.read([]byte(ev.Data)) // the event's name is in the data, too
			if err != nil {
				yield(Delta{}, err)
				return
			}
			if d != (Delta{}) && !yield(d, nil) {
				return
			}
			if s.done {
				return
			}
		}
		if ctx.Err() != nil {
			yield(Delta{}, context.Cause(ctx))
			return
		}
		yield(Delta{}, fmt.Errorf("%w: %w", errBroken, broken))
	}
}

// open sends the request and returns the stream of its answer.
func (m *anthropicModel) open(ctx context.Context, r Request) (io.ReadCloser, error) {
	text, err := json.Marshal(m.request(r))
	if err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Anthropic-Version", anthropicVersion)
	req.Header.Set("X-Api-Key", m.key)
	resp, err := m.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<10)) // whatever came is what there is to say
	var body struct {
		Error anthropicError `json:"error"`
	}
	if json.Unmarshal(said, &body) == nil && body.Error.Message != "" {
		said = []byte(body.Error.Message)
	}
	return nil, serviceError(m.hint, resp.StatusCode, string(said))
}

type anthropicError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// anthropicRequest is what the service wants to read.
type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	System    string             `json:"system,omitempty"`
	Messages  []anthropicMessage `json:"messages"`
	Tools     []anthropicTool    `json:"tools,omitempty"`
	Stream    bool               `json:"stream"`
}

type anthropicMessage struct {
	Role    Role             `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`

	Source *anthropicSource `json:"source,omitempty"`
	Title  string           `json:"title,omitempty"`
}

// anthropicSource is a picture or a document.
type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 as JSON
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func (m *anthropicModel) request(r Request) anthropicRequest {
	q := anthropicRequest{Model: cmp.Or(r.Model, m.model), MaxTokens: cmp.Or(r.MaxTokens, anthropicTokens), System: r.System, Stream: true}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, anthropicTool{t.Name, t.Description, t.schema()})
	}
	for _, message := range r.Messages {
		role, blocks := message.anthropicBlocks()
		if len(blocks) == 0 {
			continue // the service takes no empty message
		}
		// Roles take turns: what one says in a row is one message.
		if last := len(q.Messages) - 1; last >= 0 && q.Messages[last].Role == role {
			q.Messages[last].Content = append(q.Messages[last].Content, blocks...)
			continue
		}
		q.Messages = append(q.Messages, anthropicMessage{role, blocks})
	}
	return q
}

func (m Message) anthropicBlocks() (Role, []anthropicBlock) {
	if m.Role == ToolRole {
		return User, []anthropicBlock{{Type: "tool_result", ToolUseID: m.CallID, Content: m.Text, IsError: m.IsError}}
	}
	var blocks []anthropicBlock
	for _, f := range m.Files {
		block := anthropicBlock{Type: "image", Source: &anthropicSource{"base64", f.Type, f.Data}}
		if !f.isPicture() {
			block.Type, block.Title = "document", f.Name
		}
		blocks = append(blocks, block)
	}
	if m.Text != "" {
		blocks = append(blocks, anthropicBlock{Type: "text", Text: m.Text})
	}
	for _, call := range m.Calls {
		blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: call.arguments()})
	}
	return m.Role, blocks
}
