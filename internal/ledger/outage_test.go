package ledger

import (
	"testing"
	"time"

	"github.com/beeos/beeos/internal/pgtest"
)

// TestDatabaseGoesAway: the connection breaks, and for a while there is no
// other. Nobody hears of it, and what the database has committed without being
// able to say so counts as stored, once.
func TestDatabaseGoesAway(t *testing.T) {
	direct := pgtest.Cluster(t).URL(t)
	line := pgtest.NewLine(t, direct)
	l, reader := openOn(t, line.URL, Options{}), openOn(t, direct, Options{})
	begin(t, l, request("agent_a"))
	for _, answer := range []string{"BEGIN", "COMMIT"} {
		line.CutAt(answer, time.Second) // longer than one who is not patient tries
		o := request("agent_a")
		o.Idempotency = &Idempotency{Scope: "s", Key: answer, Fingerprint: []byte("f"), Expires: time.Now().Add(time.Hour)}
		begin(t, l, o)
		if line.Refused() == 0 {
			t.Fatalf("nothing was cut at %s, so nothing was tested", answer)
		}
		got, err := reader.Messages(t.Context(), o.Channel.ID, 0, 10)
		if err != nil || len(got) != 1 || got[0].ID != o.Message.ID {
			t.Errorf("cut at %s, stored: %+v, %v", answer, got, err)
		}
	}
}
