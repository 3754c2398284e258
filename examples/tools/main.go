// Tools is an agent whose skills are MCP tools. Each has a schema, which the
// gateway checks before the handler runs, and a handler of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := agent.Run(ctx, agent.Options{
		Name:        "tools-example",
		DisplayName: "Calculator",
		Description: "Does sums and looks words up.",
		Tools:       []agent.Tool{divide, define},
		Resources: []agent.Resource{{
			Resource: beeos.Resource{URITemplate: "words://{word}", Name: "A word of the dictionary", MIMEType: "text/plain"},
			Read: func(_ context.Context, m agent.Message, r *agent.Reply) error {
				word := strings.TrimPrefix(m.URI(), "words://")
				r.Resource(m.URI(), "text/plain", dictionary[word])
				return nil
			},
		}},
	}, nil) // nobody to talk to, only tools
	if err != nil {
		log.Fatal(err)
	}
}

// divide returns a value that programs can read, and says what went wrong in
// words that a model can act upon.
var divide = agent.Tool{
	Name:         "divide",
	Description:  "Divides a by b.",
	Schema:       json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
	OutputSchema: json.RawMessage(`{"type":"object","properties":{"quotient":{"type":"number"}},"required":["quotient"]}`),
	Annotations:  json.RawMessage(`{"readOnlyHint":true}`),
	Handle: func(_ context.Context, m agent.Message, r *agent.Reply) error {
		var in struct{ A, B float64 }
		if err := m.Bind(&in); err != nil {
			return err
		}
		if in.B == 0 {
			return errors.New("nothing can be divided by zero; choose another b")
		}
		if err := r.Structured(map[string]float64{"quotient": in.A / in.B}); err != nil {
			return err
		}
		return r.Send(fmt.Sprint(in.A / in.B))
	},
}

var dictionary = map[string]string{
	"bee":  "An insect that makes honey.",
	"hive": "Where bees live.",
}

// define asks the person for the word when the caller left it out and can be
// asked.
var define = agent.Tool{
	Name:        "define",
	Description: "Says what a word means.",
	Schema:      json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}}}`),
	Handle: func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		var in struct{ Word string }
		if err := m.Bind(&in); err != nil {
			return err
		}
		if in.Word == "" {
			answer, err := r.Elicit(ctx, "Which word?", json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`))
			if err != nil {
				return fmt.Errorf("which word? %w", err)
			}
			if !answer.Accepted() {
				return r.Send("Another time, then.")
			}
			if err := json.Unmarshal(answer.Content, &in); err != nil {
				return err
			}
		}
		meaning, ok := dictionary[in.Word]
		if !ok {
			return fmt.Errorf("%q is not in the dictionary", in.Word)
		}
		r.ResourceLink("words://"+in.Word, in.Word, "text/plain")
		return r.Send(meaning)
	},
}
