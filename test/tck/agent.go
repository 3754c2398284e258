package main

import (
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos/agent"
)

// longer than the suite waits for a stream.
const aWhile = 4 * time.Second

// scenarios are what the suite's message ids begin with, and what they ask
// for; the first that fits is meant.
var scenarios = []struct {
	prefix string
	do     func(context.Context, *agent.Reply) error
}{
	{"tck-artifact-text", text("Generated text content")},
	{"tck-artifact-file-url", func(_ context.Context, r *agent.Reply) error {
		r.ResourceLink("https://example.com/output.txt", "output.txt", "text/plain")
		return nil
	}},
	{"tck-artifact-file", file},
	{"tck-artifact-data", func(_ context.Context, r *agent.Reply) error {
		return r.Structured(map[string]any{"key": "value", "count": 42})
	}},
	{"tck-message-response", func(_ context.Context, r *agent.Reply) error {
		if err := r.Direct(); err != nil {
			return err
		}
		return r.Send("Direct message response")
	}},
	{"tck-input-required", needInput},
	{"tck-reject-task", func(_ context.Context, r *agent.Reply) error { return r.Refuse("rejected") }},
	{"tck-stream-artifact-chunked", text("chunk-1 ", "chunk-2")},
	{"tck-stream-artifact-file", file},
	{"tck-stream-artifact-text", text("Streamed text content")},
	{"tck-stream-ordering-001", text("Ordered output")},
	{"tck-stream-001", text("Stream hello from TCK")},
	{"tck-stream-003", text("Stream task lifecycle")},
	{"test-resubscribe-message-id", func(ctx context.Context, r *agent.Reply) error {
		if err := r.Progress(1, 2, "working"); err != nil {
			return err
		}
		select {
		case <-time.After(aWhile):
		case <-ctx.Done():
		}
		return nil
	}},
}

func answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	id := m.Metadata["a2a_message_id"]
	for _, s := range scenarios {
		if strings.HasPrefix(id, s.prefix) {
			return s.do(ctx, r)
		}
	}
	return r.Send("Hello from TCK")
}

// text streams its pieces.
func text(pieces ...string) func(context.Context, *agent.Reply) error {
	return func(_ context.Context, r *agent.Reply) error {
		for _, p := range pieces {
			if err := r.Delta(p); err != nil {
				return err
			}
		}
		return nil
	}
}

func file(_ context.Context, r *agent.Reply) error {
	r.ResourceBlob("file:///output.txt", "text/plain", []byte("tck"))
	return nil
}

// needInput waits for the caller until it says that it is enough. The suite
// says so by the message's id, which an agent does not see here: by its text.
func needInput(ctx context.Context, r *agent.Reply) error {
	for {
		said, err := r.InputRequired(ctx, "What now?", nil)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(said.Text, "TCK history message") {
			return r.Send("Thank you.")
		}
	}
}
