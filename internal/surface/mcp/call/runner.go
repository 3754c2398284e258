// Package call runs calls for MCP clients. The events of a call become
// progress, logs or questions, its outcome a result; a client may cancel it,
// lose its stream and come back, answer questions in a later round, or be
// handed a task when the call takes longer than the client would wait.
package call

import (
	"context"
	"log/slog"
	"sync"
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
	pending   sync.Map // the calls that run here for sessions: name -> *pendingRequest
	questions sync.Map // those put on our own account: ask -> chan []byte, for {"result"} or {"error"}
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

	LeaveAfter time.Duration // how long a client may take to resume a stream; 0 = the default

	HandOver time.Duration   // as in the options of package mcp; 0 = its default
	Context  context.Context // ends when the server stops
}

func NewRunner(opt Options) *Runner {
	if opt.HandOver <= 0 {
		opt.HandOver = min(defaultHandOver, opt.Calls.Timeout()*5/6)
	}
	if opt.LeaveAfter <= 0 {
		opt.LeaveAfter = defaultLeave
	}
	return &Runner{Options: opt, polls: pollLimit{fullAt: map[string]time.Time{}}}
}
