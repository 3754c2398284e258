package store

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// TestOldCallsJoinTheRecord: what was asked and answered before messages were the
// record of calls is found like all that came after, but for surface and tool, and
// so is what was still open.
func TestOldCallsJoinTheRecord(t *testing.T) {
	for name, dsn := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(t.TempDir(), "beeos.db") },
		"postgres": func() string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), dsn())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			provider, err := newProvider(db.DB)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provider.DownTo(t.Context(), 24); err != nil {
				t.Fatal(err)
			}
			exec := func(query string, args ...any) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			const columns = `INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, agent_id) VALUES `
			want := map[string]calls.Outcome{}
			ask := func(caller string, end, state, stop string, outcome calls.Outcome, took time.Duration) string {
				id, at := beeos.NewID(), database.Micros(time.Now())
				exec(columns+`($1, 1, $2, 'chat_message', '', FALSE, 'completed', '', $3, 'hello', '', '{}', $4, 'agent_a')`, "ch-"+id, id, caller, at)
				if end != "" {
					exec(columns+`($1, 2, $2, $3, $4, TRUE, $5, $6, 'agent:agent_a', 'hi', '', '{}', $7, '')`, "ch-"+id, beeos.NewID(), end, id, state, stop, at+took.Microseconds())
				} else {
					exec(`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner)
						VALUES ($1, $2, 1, 'agent_a', '', 1, TRUE, 1, 0, TRUE, 'push', 'always', 0, $3)`, id, "ch-"+id, caller)
				}
				want[id] = outcome
				return id
			}
			ask("user:u", "agent_reply", "completed", "end_turn", calls.OK, time.Millisecond)
			slow := ask("user:u", "agent_reply_error", "failed", "timeout", calls.TimedOut, 12*time.Second)
			ask("user:v", "agent.refuse", "refused", "refused", calls.Refused, 0)
			ask("user:v", "agent_busy", "refused", "refused", calls.Busy, 0)
			ask("user:v", "agent_reply", "cancelled", "user", calls.Canceled, 0)
			ask("user:v", "agent_reply_error", "failed", "agent_lost", calls.Lost, 0)
			ask("user:v", "agent_reply_error", "failed", "error", calls.Failed, 0)
			ask("user:v", "", "", "", calls.Working, 0)
			exec(`INSERT INTO callers (principal, agent_id, seen_at) VALUES ('user:u', 'agent_a', 1), ('user:v', 'agent_a', 2)`)

			if err := migrate(t.Context(), db.DB); err != nil {
				t.Fatal(err)
			}
			find := func(f calls.Filter) map[string]calls.Outcome {
				t.Helper()
				f.Limit = 50
				list, err := db.Calls.Find(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]calls.Outcome{}
				for _, c := range list {
					got[c.Turn] = c.Outcome
				}
				return got
			}
			if diff := cmp.Diff(want, find(calls.Filter{AgentIDs: []string{"agent_a"}})); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]calls.Outcome{slow: calls.TimedOut}, find(calls.Filter{Callers: []string{"user:u"}, Slower: 10 * time.Second})); diff != "" {
				t.Error(diff)
			}
			if got := find(calls.Filter{Callers: []string{"user:v"}, Outcomes: []calls.Outcome{calls.Refused, calls.Failed}}); len(got) != 2 {
				t.Errorf("%d of two went wrong so", len(got))
			}
		})
	}
}
