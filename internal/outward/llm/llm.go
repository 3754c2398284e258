// Package llm talks to language models. A Model streams its answer to a
// conversation: pieces of text and of reasoning, whole tool calls, what it
// used. There are three: any service that speaks OpenAI's chat completions
// (openai.go), Anthropic's messages over plain HTTP (anthropic.go), and a
// Script (script.go), which needs no key and no network: tests and the demo of
// `beeos dev` decide with it. Open picks one by settings, and services.go makes one
// of several. attachments.go puts files of callers before a model. What a service
// says with an error is in fault.go, and how long to wait for one that is busy in
// retry.go.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// Model answers conversations.
type Model interface {
	// Stream asks for the next message of the conversation. It ends with an
	// error, or after a Delta with Stop set. Leaving the loop, or ending ctx,
	// ends the request.
	Stream(ctx context.Context, r Request) iter.Seq2[Delta, error]
}

// Request is a conversation that waits for the model.
type Request struct {
	Model     string // empty = the one that the Model was opened with
	System    string
	Messages  []Message
	Tools     []Tool
	MaxTokens int // of the answer; 0 = the service's own limit
}

// sizeOfFile is about how much text a picture or a page stands for.
const sizeOfFile = 6000

// Size returns how many bytes of text the model has to read.
func (r Request) Size() int {
	size := len(r.System)
	for _, m := range r.Messages {
		size += len(m.Text) + len(m.Files)*sizeOfFile
		for _, c := range m.Calls {
			size += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range r.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return size
}

// Role says whose words a message is.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the answer to a Call
)

// Message is one step of a conversation.
type Message struct {
	Role    Role
	Text    string
	Files   []File // the user's
	Calls   []Call // the assistant's
	CallID  string // a tool's: which call it answers
	IsError bool   // a tool's: it failed, and Text says why
}

// Tool is something that the model can ask for.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of the arguments; any object when empty
}

// Call is the model's wish to use a tool.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // an object

	// Invalid says why the call must not be made: what the model wrote is not a
	// whole object of arguments, and Arguments is an empty one.
	Invalid string `json:",omitempty"`
}

// Delta is a piece of the answer.
type Delta struct {
	Text      string
	Reasoning string
	Call      *Call  // whole
	Usage     *Usage // of this request so far
	Stop      Stop   // set on the last one
}

// Stop is why the model stopped.
type Stop string

const (
	StopEnd    Stop = "end"    // it has said what it had to say
	StopTools  Stop = "tools"  // it waits for its calls
	StopLength Stop = "length" // it ran into MaxTokens
	StopFilter Stop = "filter" // the service cut it off
)

// Usage counts tokens.
type Usage struct{ Input, Output int }

// Total is what a limit counts.
func (u Usage) Total() int { return u.Input + u.Output }

// Names of services, for Settings.Provider.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Scripted  = "scripted"
)

// Models returns the names of the models that the service lists; none when it
// does not tell.
func Models(ctx context.Context, m Model) ([]string, error) {
	if l, ok := m.(interface {
		Models(ctx context.Context) ([]string, error)
	}); ok {
		return l.Models(ctx)
	}
	return nil, nil
}

// Lacks reports whether a model is missing among those that services list: it is
// not there, although others of its service are. Not every service has a list.
func Lacks(known []string, model string) bool {
	if slices.Contains(known, model) {
		return false
	}
	service, _, cut := strings.Cut(model, "/")
	return slices.ContainsFunc(known, func(k string) bool {
		before, _, has := strings.Cut(k, "/")
		return has == cut && (!cut || before == service)
	})
}

// Describe names the service that answers when a request names a model, and the
// model, also when it names none; "" = it does not tell.
func Describe(m Model, named string) (provider, model string) {
	if d, ok := m.(interface {
		describe(named string) (provider, model string)
	}); ok {
		return d.describe(named)
	}
	return "", named
}

func (m *openAIModel) describe(named string) (provider, model string) {
	return OpenAI, cmp.Or(named, m.model)
}

func (m *anthropicModel) describe(named string) (provider, model string) {
	return Anthropic, cmp.Or(named, m.model)
}

func (Script) describe(named string) (provider, model string) { return Scripted, named }

// Settings name a service.
type Settings struct {
	Provider string // openai when empty
	URL      string // of an OpenAI-compatible service or of Anthropic; theirs when empty
	Model    string
	Key      string
	Hint     string // where the key is to be checked; LLM_API_KEY when empty

	HTTP *http.Client // nil = one that waits as long as the context allows
}

// maxAnswer bounds the events of one answer: services wrap every token in
// some hundred bytes of JSON, and some compress the stream.
const maxAnswer = 32 << 20

// Open returns the model that the settings name. It does not call it.
func Open(s Settings) (Model, error) {
	if s.HTTP == nil {
		// A stream lasts as long as the context allows.
		o := outbound.Options{Trusted: true, Redirects: 3, MaxBody: maxAnswer}
		s.HTTP = outbound.ClientOver(&retryTransport{base: outbound.Transport(o), wait: outbound.Wait}, o)
	}
	switch s.Provider {
	case "", OpenAI:
		return newOpenAI(s), nil
	case Anthropic:
		return newAnthropic(s), nil
	case Scripted:
		return Demo, nil
	}
	return nil, fmt.Errorf("there is no model provider %q; choose openai, anthropic or scripted", s.Provider)
}

// schema is the tool's, or that of any object.
func (t Tool) schema() json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return t.Schema
}

// arguments are the call's, or none.
func (c Call) arguments() json.RawMessage {
	if len(c.Arguments) == 0 {
		return noArguments
	}
	return c.Arguments
}

var noArguments = json.RawMessage(`{}`)

// quotedArguments is how much of arguments that do not parse the model reads
// again.
const quotedArguments = 500

// wholeCall makes a call of what came in pieces. Models now and then write
// arguments that are no JSON object: the call then says so, and nobody guesses
// what was meant.
func wholeCall(id, name, arguments string) *Call {
	var object map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(arguments), &object); {
	case strings.TrimSpace(arguments) == "" || err == nil && object == nil: // null: a person would be shown {}
		arguments = "{}"
	case err != nil:
		why := "the arguments are not a JSON object"
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			why += fmt.Sprintf(" (%v)", syntax)
		}
		return &Call{ID: id, Name: name, Arguments: noArguments, Invalid: why + ": " + beeos.Shorten(arguments, quotedArguments)}
	}
	return &Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// CutOff reports whether the answer ended before the model had finished it.
func (s Stop) CutOff() bool { return s == StopLength || s == StopFilter }

// cutOffWhy tells the model why calls of an answer that was cut off are not made.
var cutOffWhy = map[Stop]string{
	StopLength: "your answer was cut off by the limit of tokens before its calls were complete; call again with shorter arguments, or with fewer calls at once",
	StopFilter: "the model's service stopped your answer before its calls were complete",
}

// Invalidate marks a call of an answer that was cut off. Also arguments that
// parse may lack what was to follow: none at all read like an empty object.
func (c *Call) Invalidate(stop Stop) {
	c.Arguments = noArguments
	if c.Invalid == "" {
		c.Invalid = cutOffWhy[stop]
	} else {
		c.Invalid = cutOffWhy[stop] + " (" + c.Invalid + ")"
	}
}
