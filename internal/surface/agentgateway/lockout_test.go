package agentgateway

import (
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestLockedOutOwnersAreDisconnected: a person who is disabled no longer gets
// messages through connections that were opened before. One who is only
// renamed keeps them.
func TestLockedOutOwnersAreDisconnected(t *testing.T) {
	for name, tell := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			p := s.join()
			ids := p.sync(beeos.Definition{Name: "a"})
			expect(t, p.websocket(""), beeos.FrameHello)
			begun := time.Now()

			s.must(s.db.People.RenameUser(s.ctx, s.owner.ID, "another name"))
			s.must(s.gateway.hub.EndLockedOut(s.ctx, begun.Add(-time.Hour)))
			if s.gateway.Connections() != 1 {
				t.Fatal("a new name cost a connection")
			}

			s.must(s.db.People.Lock(s.ctx, s.owner.ID, time.Now()))
			if tell {
				s.bus.Control(bus.Control{Kind: bus.KeyRevoked, ID: s.owner.ID})
			} else {
				s.must(s.gateway.hub.EndLockedOut(s.ctx, begun))
			}
			s.eventually("the locked out are gone", func() bool { return s.gateway.Connections() == 0 && !s.bus.Present(s.ctx, ids["a"]) })
		})
	}
}
