package faults

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// killsVar is how often a server is killed, where that is not to be the few times of CI:
// make kills has fifty.
const killsVar = "FAULTS_KILLS"

func TestServerKilled(t *testing.T) {
	r := testServerKilled(t, 15)
	var verdict string
	if err := r.db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check: %s, %v", verdict, err)
	}
}

// TestServerOnPostgresKilled is the same on PostgreSQL, where a server that is dead
// may leave a transaction behind that is still under way.
func TestServerOnPostgresKilled(t *testing.T) {
	testServerKilled(t, 12, "DATABASE_URL="+pgtest.URL(t))
}

// testServerKilled: one node, callers that never rest, and kill -9 at random
// moments. What was acknowledged must be there afterwards, what was not must have
// ended in an error, a repeated call must find the first one's result, and the sums
// of usage are those of the answers.
func testServerKilled(t *testing.T, kills int, settings ...string) records {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv(killsVar)); err == nil {
		kills = n
	}
	n := newNode(t, "server", append(settings, "BEEOS_DURABILITY=fsync")...)
	key := n.owner()
	n.start()
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json", Again: beeos.RedeliverAlways, Spends: true})

	l := startLoad(t, n, a, key)
	ctx := t.Context()
	began := time.Now()
	for i := range kills {
		if i%5 == 4 { // in the middle of a start
			pause(ctx, rand.N(150*time.Millisecond))
		} else {
			pause(ctx, 20*time.Millisecond+rand.N(400*time.Millisecond))
		}
		before := a.connections()
		l.down()
		n.proc.Kill()
		n.launch()
		if i%5 != 3 { // else the next one comes before it is ready
			n.ready()
			l.alive()
			a.connected(before) // by itself
		}
	}
	t.Logf("%d kills in %s", kills, time.Since(began).Round(time.Second))
	l.finish()
	if took, code := n.proc.terminate(patience); code != 0 {
		t.Errorf("the server ended with code %d after %s", code, took)
	}
	r := l.check()
	r.checkUsage()
	return r
}
