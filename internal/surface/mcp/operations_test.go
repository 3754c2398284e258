package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// TestErrorsOfOperationsAreFew: whatever agents answer with, the words by which
// operations are counted are ours.
func TestErrorsOfOperationsAreFew(t *testing.T) {
	fault := func(n int) error { return &wire.Fault{Err: beeos.Errorf(beeos.InternalError, "no"), Number: n} }
	seen := map[string]bool{}
	for n := -40000; n < 40000; n++ {
		x := &request{}
		x.HTTP = httptest.NewRequest("POST", "/", nil)
		seen[x.operationError(fault(n))] = true
	}
	if len(seen) > len(errorNames)+1 || !seen[unknownName] {
		t.Errorf("%d words", len(seen))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i, c := range []struct {
		err     error
		failed  bool
		version wire.Version
		left    bool
		want    string
	}{
		{want: ""},
		{failed: true, want: "tool_error"},
		{err: beeos.Errorf(beeos.RateLimited, "slow down"), want: "429"},
		{err: beeos.Errorf(beeos.AgentOffline, "away"), want: "503"},
		{err: wire.ToolNotFound("x"), want: "-32601"},
		{err: wire.ToolNotFound("x"), version: wire.VersionOf("2026-07-28"), want: "-32602"},
		{err: errors.New("ours"), want: "-32603"},
		{err: errors.New("ours"), left: true, want: "client_left"},
		{err: fmt.Errorf("later: %w", call.ErrClientReturns), want: "client_left"},
	} {
		x := &request{}
		x.HTTP, x.ToolFailed, x.Version = httptest.NewRequest("POST", "/", nil), c.failed, c.version
		if c.left {
			x.HTTP = x.HTTP.WithContext(gone)
		}
		if got := x.operationError(c.err); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}
