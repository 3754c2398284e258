// Package call runs calls for MCP clients. The events of a call become
// progress, logs or questions, its outcome a result; a client may cancel it,
// lose its stream and come back, answer questions in a later round, or be
// handed a task when the call takes longer than the client would wait.
package call

import (
	"context"
	"log/slog"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	sessionstore "github.com/beeos/beeos/internal/store/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
)

// Runner runs the calls of clients at this replica.
type Runner struct {
	Options
	pending   pendingRequests
	questions pendingQuestions
	polls     pollLimit
}

type Options struct {
	Sessions *sessionstore.Table
	Calls    *invoke.Calls
	Bus      *bus.Bus
	Catalog  *catalog.Catalog
	Sealer   *sessions.Sealer
	Log      *slog.Logger
	Now      func() time.Time

	HandOver time.Duration   // as in the options of package mcp; 0 = its default
	Context  context.Context // ends when the server stops
}

func NewRunner(opt Options) *Runner {
	if opt.HandOver <= 0 {
		opt.HandOver = min(defaultHandOver, opt.Calls.Timeout()*5/6)
	}
	return &Runner{
		Options:   opt,
		pending:   pendingRequests{byName: map[string]*pendingRequest{}},
		questions: pendingQuestions{waiting: map[string]chan []byte{}},
		polls:     pollLimit{fullAt: map[string]time.Time{}},
	}
}
