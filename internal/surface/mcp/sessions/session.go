package sessions

import (
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

const sessionLife = 30 * 24 * time.Hour

// Session is what a client and we agreed on at initialize. It lives in the
// Mcp-Session-Id alone: any replica opens it, and an idle one costs nothing.
type Session struct {
	Version wire.Version
	Can     wire.Capability
	Channel string // the calls of one session share it, so the agent sees the history
	born    time.Time
}

// NewSession is what initialize begins.
func NewSession(v wire.Version, can wire.Capability, now time.Time) *Session {
	return &Session{Version: v, Can: can, Channel: beeos.NewChannelID(), born: now}
}

func (s *Session) Expires() time.Time { return s.born.Add(sessionLife) }
