package invoke

import (
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/test/pgtest"
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

// A context's channel is named by what anybody may know. Nobody takes the name
// before the one whose context it is comes.
func TestNobodyTakesAnothersContext(t *testing.T) {
	n := build(t, ownFile(t), bus.Options{}, nil)
	a := anAgent(beeos.DeliverQueue)
	a.Visibility = beeos.VisiblePublic
	call := func(user, context string) (beeos.Message, error) {
		r := aCall(a, "x")
		r.Caller.UserID, r.Caller.CredentialID, r.ContextID = user, "key of "+user, context
		return n.Send(t.Context(), *r)
	}
	theirs := ContextChannel(&beeos.Caller{Kind: beeos.ByUserKey, UserID: "u"}, a.ID, "main")
	if _, err := call("mallory", theirs); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("somebody else's: %v, want not found", err)
	}
	for _, context := range []string{"main", theirs, beeos.NewChannelID()} { // by its name, by its channel's, and one of the caller's own making
		if m, err := call("u", context); err != nil || context != m.Channel && theirs != m.Channel {
			t.Errorf("one's own %s: %+v, %v", context, m, err)
		}
	}
}
