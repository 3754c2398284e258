package invoke

import (
	"context"
	"fmt"

	"github.com/beeos/beeos"
)

// Past is a stretch of another channel that a new one begins with, so that an
// agent finds there what it had found when it was asked for the first time. Who
// sets it has seen to it that the agent may know.
type Past struct {
	Channel       string // empty = the new channel begins with nothing
	After, Before int64  // offsets
}

// How much of a channel is taken along: about what a built-in agent tells its
// model again.
const (
	maxPast      = 60
	maxPastBytes = 256 << 10
)

// readPast returns copies of what was asked and answered. They have ids of their
// own, since an id names one message of one channel.
func (c *Calls) readPast(ctx context.Context, p Past) ([]beeos.Message, error) {
	if p.Channel == "" {
		return nil, nil
	}
	past, err := c.opt.Ledger.MessagesBefore(ctx, p.Channel, p.After, p.Before, maxPast, maxPastBytes)
	if err != nil {
		return nil, fmt.Errorf("read what was said before: %w", err)
	}
	copies := map[string]string{}
	for i := range past {
		m := &past[i]
		copies[m.ID] = beeos.NewID()
		m.ID = copies[m.ID]
		if m.InReplyTo != "" {
			if copies[m.InReplyTo] == "" { // what it answers was too long ago
				copies[m.InReplyTo] = beeos.NewID()
			}
			m.InReplyTo = copies[m.InReplyTo]
		}
	}
	return past, nil
}
