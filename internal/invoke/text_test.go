package invoke

import (
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/bus"
	"github.com/beeos/beeos/internal/pgtest"
)

// What no database should have to hold is refused for what it is, and not as
// a trouble that passes. Bodies of JSON are checked before; forms and headers
// are not.
func TestTextThatCannotBeStored(t *testing.T) {
	for engine, dsn := range map[string]string{"sqlite": ownFile(t), "postgres": pgtest.URL(t)} {
		n := build(t, dsn, bus.Options{}, nil)
		for _, c := range []struct {
			body, key string
			want      beeos.Code
		}{
			{"a\x00b", "", beeos.InvalidBody},
			{"a\xffb", "", beeos.InvalidBody},
			{"x", "k\x00", beeos.InvalidParam},
			{"x", "k\xff", beeos.InvalidParam},
		} {
			r := aCall(anAgent(beeos.DeliverQueue), c.body)
			r.IdempotencyKey = c.key
			if _, err := n.Send(t.Context(), *r); beeos.CodeOf(err) != c.want {
				t.Errorf("%s: %q under %q: %v, want %s", engine, c.body, c.key, err, c.want)
			}
		}
	}
}
