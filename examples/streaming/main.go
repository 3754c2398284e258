// Streaming is an agent that takes its time: it thinks aloud, tells how far it
// is, writes word by word, and stops when the caller does not want it any
// more. It takes one message per conversation at a time.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := agent.Run(ctx, agent.Options{
		Name:         "streaming-example",
		Description:  "Counts the words of a message, aloud.",
		DeliveryMode: beeos.DeliverQueue,
		Timeout:      2 * time.Minute,
	}, count)
	if err != nil {
		log.Fatal(err)
	}
}

func count(ctx context.Context, m agent.Message, r *agent.Reply) error {
	words := strings.Fields(m.Text)
	if err := r.Reasoning(fmt.Sprintf("There are %d words to count.", len(words))); err != nil {
		return err
	}
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for i, word := range words {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return ctx.Err() // cancelled, or too late
		}
		if err := r.Progress(float64(i+1), float64(len(words)), word); err != nil {
			return err
		}
		if err := r.Delta(fmt.Sprintf("%d %s, ", i+1, word)); err != nil {
			return err
		}
	}
	return r.Send("that is all.")
}
