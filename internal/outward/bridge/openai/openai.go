// Package openai turns a model behind an OpenAI-compatible endpoint into an
// agent that one can talk to. ask.go asks it once, and tells that as a step.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	openai "github.com/sashabaranov/go-openai"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/internal/outward/llm"
)

// maxMessages is how many messages of a conversation a model gets to see,
// and maxHistory how many bytes of them: the newest count.
const (
	maxMessages = 100
	maxHistory  = 256 << 10
)

// Options say which model becomes an agent.
type Options struct {
	URL    string          `name:"openai" xor:"what" placeholder:"URL" example:"http://localhost:11434/v1" yaml:"openai" help:"OpenAI-compatible endpoint, with its /v1. The key is in OPENAI_API_KEY or in the file that OPENAI_API_KEY_FILE names."`
	Model  string          `example:"llama3" yaml:"model" help:"With --openai: the model."`
	System string          `placeholder:"TEXT" yaml:"system" help:"With --openai: what the model is told first."`
	Key    upstream.Secret `kong:"-" yaml:"key"` // empty = the endpoint wants none
}

// Given reports whether there is an endpoint.
func (o *Options) Given() bool { return o.URL != "" }

// Validate wants a model.
func (o *Options) Validate() error {
	if o.Given() && o.Model == "" {
		return errors.New("openai names no model; add --model, or model in a file")
	}
	return nil
}

// Check finds mistakes before anything is dialled, and reads the key.
func (o *Options) Check(s *settings.Bridge) (err error) {
	if err := cmp.Or(o.Validate(), upstream.CheckURL(s.Option("openai"), o.URL)); err != nil {
		return err
	}
	if s.Folder == "" {
		o.Key, err = upstream.ReadSecretEnv("OPENAI_API_KEY")
		return err
	}
	if err := o.Key.Resolve(s.Folder); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

// Run serves the model as an agent until ctx ends. It remembers each
// conversation as far as the channel does.
func (o *Options) Run(ctx context.Context, s settings.Bridge) error {
	cfg := openai.DefaultConfig(string(o.Key))
	cfg.BaseURL = strings.TrimRight(o.URL, "/")
	cfg.HTTPClient = llm.OpenAIFiles{Next: withHeader{upstream.NewClient(), s.Header, o.Key == ""}}
	m := &model{
		name: o.Model, system: o.System, client: openai.NewClientWithConfig(cfg),
		secrets: append(upstream.SecretsOf(s.Header), string(o.Key)),
	}
	s.Agent.Model = o.Model
	return agent.Run(ctx, s.Agent, m.answerMessage)
}

// withHeader adds the operator's headers to the requests of go-openai, and
// leaves out the empty credential that it sends without a key.
type withHeader struct {
	http   *http.Client
	header http.Header
	noKey  bool
}

func (c withHeader) Do(req *http.Request) (*http.Response, error) {
	if c.noKey {
		req.Header.Del("Authorization")
	}
	maps.Copy(req.Header, c.header)
	resp, err := c.http.Do(req)
	if err == nil && resp.StatusCode >= 300 && resp.StatusCode < 400 { // which go-openai takes for an answer
		resp.Body.Close()
		return nil, fmt.Errorf("the endpoint answered %s; its operator has to give the address that it leads to", resp.Status)
	}
	return resp, err
}

// model is what stands behind an agent.
type model struct {
	name    string
	system  string // what it is told first
	client  *openai.Client
	secrets []string    // what no error may show
	noUsage atomic.Bool // the endpoint does not take the question what an answer took
}

// answerMessage handles one message: the conversation goes to the model, what
// it says comes back as it says it.
func (a *model) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	if m.Method != "" {
		return r.Refuse("this agent is a model: talk to it")
	}
	messages, err := a.buildPrompt(ctx, m, r)
	if err != nil {
		return err
	}
	got, err := a.ask(ctx, messages, r)
	if llm.HasFiles(messages) && refusesContent(err) {
		got, err = a.ask(ctx, llm.WithoutFiles(messages), r)
	}
	switch {
	case err != nil:
		return a.publicError(ctx, err)
	case got.refusal != "":
		return r.Refuse(got.refusal)
	case got.finish == openai.FinishReasonContentFilter && !got.said:
		return r.Refuse("the model's content filter stopped the answer")
	case !got.said:
		return errors.New("the model behind this agent said nothing")
	}
	return r.Send("")
}

// request is what the endpoint is asked.
func (a *model) request(messages []llm.Message) openai.ChatCompletionRequest {
	q := openai.ChatCompletionRequest{Model: a.name}
	if !a.noUsage.Load() {
		q.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	for _, m := range messages {
		message := openai.ChatCompletionMessage{Role: string(m.Role)}
		llm.SetOpenAIContent(&message, m)
		q.Messages = append(q.Messages, message)
	}
	return q
}

// refusesContent reports whether an endpoint does not take what it was sent: many
// models take no pictures, and many endpoints no documents.
func refusesContent(err error) bool {
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		return llm.RefusesContent(e.HTTPStatusCode)
	}
	e, ok := errors.AsType[*openai.RequestError](err)
	return ok && llm.RefusesContent(e.HTTPStatusCode)
}

// buildPrompt is what was said before, and the message with its files.
func (a *model) buildPrompt(ctx context.Context, m agent.Message, r *agent.Reply) ([]llm.Message, error) {
	history, err := r.History(ctx)
	if err != nil {
		return nil, err
	}
	now := llm.Message{Role: llm.User, Text: m.Text}
	reader := llm.NewAttachmentReader() // the newest files have room first
	reader.Add(ctx, &now, m.Attachments)
	said := []llm.Message{now}
	size := len(m.Text)
	for _, h := range slices.Backward(history) {
		role := roles[h.Type]
		files := llm.PastAttachments(h)
		if h.ID == m.ID || role == "" || h.Body == "" && len(files) == 0 {
			continue
		}
		if size += len(h.Body); size > maxHistory || len(said) >= maxMessages {
			break
		}
		before := llm.Message{Role: role, Text: h.Body}
		reader.Add(ctx, &before, files)
		said = append(said, before)
	}
	if a.system != "" {
		said = append(said, llm.Message{Role: openai.ChatMessageRoleSystem, Text: a.system})
	}
	slices.Reverse(said)
	return said, nil
}

// roles are who said what; the rest of a channel is not for the model.
var roles = map[beeos.MessageType]llm.Role{
	beeos.ChatMessage: llm.User,
	beeos.Continue:    llm.User,
	beeos.AgentReply:  llm.Assistant,
}

// publicError says what went wrong in the endpoint's words, without its
// address.
func (a *model) publicError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		return fmt.Errorf("the model behind this agent answered %d: %s", e.HTTPStatusCode, upstream.Shorten(upstream.HideSecrets(e.Message, a.secrets...)))
	}
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return fmt.Errorf("the model behind this agent answered %d", e.HTTPStatusCode)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the model behind this agent cannot be reached: %w", upstream.WithoutAddress(err))
	}
	return fmt.Errorf("the model behind this agent: %w", err)
}
