package mcp

import (
	"context"
	"log/slog"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store"
)

// runner runs the calls of clients at this replica.
type runner struct {
	runnerOptions
	pending   pendingRequests
	questions pendingQuestions
	polls     pollLimit
}

type runnerOptions struct {
	DB      *store.DB
	Calls   *invoke.Calls
	Bus     *bus.Bus
	Catalog *catalog
	Sealer  *sealer
	Log     *slog.Logger
	Now     func() time.Time

	// HandOver is after how long a call is answered with where to fetch its
	// result, to a client that knows nothing of tasks; 0 = 50 s, or before
	// the default timeout of calls.
	HandOver time.Duration

	// Context ends when the server stops. Calls inside a session outlive
	// their connection, but not this.
	Context context.Context
}

func newRunner(opt runnerOptions) *runner {
	if opt.HandOver <= 0 {
		opt.HandOver = min(defaultHandOver, opt.Calls.Timeout()*5/6)
	}
	return &runner{
		runnerOptions: opt,
		pending:       pendingRequests{byName: map[string]*pendingRequest{}},
		questions:     pendingQuestions{waiting: map[string]chan []byte{}},
		polls:         pollLimit{fullAt: map[string]time.Time{}},
	}
}
