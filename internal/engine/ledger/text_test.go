package ledger

import (
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestIdsThatPostgresCannotHold: what is named by text with zero bytes or
// broken UTF-8, as an address can be, is not there, on either database.
func TestIdsThatPostgresCannotHold(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		o := request("agent_a")
		begin(t, l, o)
		for _, id := range []string{"ch-\x00", "ch-\xff"} {
			_, channel := l.Channel(t.Context(), id)
			_, turn := l.OpenDelivery(t.Context(), id)
			_, message := l.Message(t.Context(), id, 1)
			_, found := l.FindMessage(t.Context(), o.Channel.ID, id)
			_, request := l.Request(t.Context(), "user:u", id)
			for name, err := range map[string]error{"channel": channel, "turn": turn, "message": message, "find": found, "request": request} {
				if beeos.CodeOf(err) != beeos.NotFound {
					t.Errorf("%s %q: %v, want not found", name, id, err)
				}
			}
			if dup, err := l.FindByKey(t.Context(), &Idempotency{Scope: "s", Key: id, Expires: time.Now()}); dup != nil || err != nil {
				t.Errorf("known %q: %+v, %v", id, dup, err)
			}
		}
	})
}
