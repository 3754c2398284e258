// Echo is the smallest agent, a parrot: it says back what it is told. Start `beeos dev`
// in one terminal and `go run ./examples/echo` in another.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/beeos/beeos/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := agent.Run(ctx, agent.Options{Name: "parrot"}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		r.Delta("you said: ") //nolint:errcheck // streamed to MCP progress, A2A events, SSE, the web chat
		return r.Send(m.Text)
	})
	if err != nil {
		log.Fatal(err)
	}
}
