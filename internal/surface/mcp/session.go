package mcp

import (
	"time"

	"github.com/beeos/beeos"
)

const sessionLife = 30 * 24 * time.Hour

// session is what a client and we agreed on at initialize. It lives in the
// Mcp-Session-Id alone: any replica opens it, and an idle one costs nothing.
type session struct {
	version version
	can     capability
	channel string // the calls of one session share it, so the agent sees the history
	born    time.Time
}

// newSession is what initialize begins.
func newSession(v version, can capability, now time.Time) *session {
	return &session{version: v, can: can, channel: beeos.NewChannelID(), born: now}
}

func (s *session) expires() time.Time { return s.born.Add(sessionLife) }
