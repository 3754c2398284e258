// Package openai turns a model behind an OpenAI-compatible endpoint into an
// agent that one can talk to.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// maxMessages is how many messages of a conversation a model gets to see,
// and maxHistory how many bytes of them: the newest count.
const (
	maxMessages = 100
	maxHistory  = 256 << 10
)

// Options say which model becomes an agent.
type Options struct {
	URL    string          `name:"openai" xor:"what" placeholder:"URL" yaml:"openai" help:"OpenAI-compatible endpoint, with its /v1. The key is in OPENAI_API_KEY or in the file that OPENAI_API_KEY_FILE names."`
	Model  string          `yaml:"model" help:"With --openai: the model."`
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
		key, err := upstream.ReadSecretEnv("OPENAI_API_KEY")
		o.Key = upstream.Secret(key)
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
	cfg.HTTPClient = withHeader{upstream.NewClient(), s.Header, o.Key == ""}
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
	for name, values := range c.header {
		req.Header[name] = values
	}
	return c.http.Do(req)
}

// model is what stands behind an agent.
type model struct {
	name    string
	system  string // what it is told first
	client  *openai.Client
	secrets []string // what no error may show
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
	stream, err := a.client.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{Model: a.name, Messages: messages})
	if err != nil {
		return a.publicError(ctx, err)
	}
	defer stream.Close()
	said := false
	for {
		piece, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && !said:
			return errors.New("the model behind this agent said nothing")
		case errors.Is(err, io.EOF):
			return r.Send("")
		case err != nil:
			return a.publicError(ctx, err)
		case len(piece.Choices) == 0: // usage
			continue
		}
		c := piece.Choices[0]
		_ = r.Reasoning(c.Delta.ReasoningContent) // who gave up is told by the context
		_ = r.Delta(c.Delta.Content)
		said = said || c.Delta.Content != "" || c.Delta.Refusal != ""
		switch {
		case c.Delta.Refusal != "":
			return r.Refuse(c.Delta.Refusal)
		case c.FinishReason == openai.FinishReasonContentFilter && !said:
			return r.Refuse("the model's content filter stopped the answer")
		}
	}
}

// buildPrompt is what was said before, and the message.
func (a *model) buildPrompt(ctx context.Context, m agent.Message, r *agent.Reply) ([]openai.ChatCompletionMessage, error) {
	history, err := r.History(ctx)
	if err != nil {
		return nil, err
	}
	said := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: textWithFiles(m)}}
	size := len(m.Text)
	for _, h := range slices.Backward(history) {
		role := roles[h.Type]
		if h.ID == m.ID || role == "" || h.Body == "" {
			continue
		}
		if size += len(h.Body); size > maxHistory || len(said) >= maxMessages {
			break
		}
		said = append(said, openai.ChatCompletionMessage{Role: role, Content: h.Body})
	}
	if a.system != "" {
		said = append(said, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: a.system})
	}
	slices.Reverse(said)
	return said, nil
}

// roles are who said what; the rest of a channel is not for the model.
var roles = map[beeos.MessageType]string{
	beeos.ChatMessage: openai.ChatMessageRoleUser,
	beeos.Continue:    openai.ChatMessageRoleUser,
	beeos.AgentReply:  openai.ChatMessageRoleAssistant,
}

// textWithFiles names what came along, so that the model can say that it does
// not read files instead of making something up.
func textWithFiles(m agent.Message) string {
	if len(m.Attachments) == 0 {
		return m.Text
	}
	var b strings.Builder
	b.WriteString(m.Text)
	b.WriteString("\n\n[Files came along that you cannot read:")
	for _, f := range m.Attachments {
		fmt.Fprintf(&b, " %q (%s, %d bytes)", f.Filename, f.ContentType, f.Size)
	}
	b.WriteString("]")
	return b.String()
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
