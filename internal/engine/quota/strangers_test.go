package quota

import (
	"log/slog"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestStrangersKeepToTheOwnersLimit: a key that somebody else made for themselves
// with a larger limit, or several of them, do not get them past the agent's.
func TestStrangersKeepToTheOwnersLimit(t *testing.T) {
	now := time.Now()
	alone := New(Options{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }, PerMinute: 60})
	shared, _ := replicas(t, 2)
	for name, nodes := range map[string][]*Quotas{"alone": {alone, alone}, "shared": shared} {
		t.Run(name, func(t *testing.T) {
			agent := &beeos.Agent{ID: "a", OwnerID: "ann", RateLimit: 3}
			admitted := func(user string, keys ...beeos.Caller) (n int) {
				for i := range 40 {
					c := keys[i%len(keys)]
					c.Kind, c.UserID = beeos.ByUserKey, user
					if nodes[i%2].Take(t.Context(), &c, agent) == nil {
						n++
					}
				}
				return n
			}
			for _, c := range []struct {
				what string
				got  int
				want int
			}{
				{"a stranger's large key", admitted("bob", beeos.Caller{CredentialID: "b1", RatePerMinute: 1000}), 3},
				{"a stranger's many keys", admitted("carl", beeos.Caller{CredentialID: "c1"}, beeos.Caller{CredentialID: "c2", RatePerMinute: 500}, beeos.Caller{CredentialID: "c3"}), 3},
				{"a stranger's small key", admitted("dora", beeos.Caller{CredentialID: "d1", RatePerMinute: 1}), 1},
				{"small keys beside each other", admitted("eve", beeos.Caller{CredentialID: "e1", RatePerMinute: 2}, beeos.Caller{CredentialID: "e2", RatePerMinute: 1}, beeos.Caller{CredentialID: "e3", RatePerMinute: 2}), 3},
				{"the owner's large key", admitted("ann", beeos.Caller{CredentialID: "a1", RatePerMinute: 20}), 20},
				{"the owner's other key", admitted("ann", beeos.Caller{CredentialID: "a2"}), 3},
			} {
				if c.got != c.want {
					t.Errorf("%s: %d calls, want %d", c.what, c.got, c.want)
				}
			}
		})
	}
}
