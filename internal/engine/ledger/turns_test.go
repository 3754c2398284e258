package ledger

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// ask stores a request of a caller to an agent, and its reply if there is one.
func ask(t *testing.T, l *Ledger, caller, agent, reply string) string {
	t.Helper()
	o := request(agent)
	o.Channel.Owner, o.Message.Publisher = caller, caller
	begin(t, l, o)
	if reply != "" {
		m := beeos.Message{Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.AgentReply, State: beeos.StateCompleted, Body: reply}
		if _, err := l.Finish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return o.Message.ID
}

func TestRequests(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		var mine, elsewhere, waiting []string
		for i := range 6 {
			reply := "done"
			if i%3 == 0 {
				reply = ""
			}
			id := ask(t, l, "user:me", "agent_a", reply)
			mine = append(mine, id)
			if reply == "" {
				waiting = append(waiting, id)
			}
			ask(t, l, "user:you", "agent_a", "done")
			id = ask(t, l, "user:me", "agent_b", "done")
			mine, elsewhere = append(mine, id), append(elsewhere, id)
		}
		for _, s := range []*[]string{&mine, &elsewhere, &waiting} { // ids of one millisecond come in any order
			slices.Sort(*s)
			slices.Reverse(*s)
		}
		for name, c := range map[string]struct {
			f    RequestFilter
			want []string
		}{
			"all":            {RequestFilter{Caller: "user:me", Limit: 50}, mine},
			"limit":          {RequestFilter{Caller: "user:me", Limit: 5}, mine[:5]},
			"page":           {RequestFilter{Caller: "user:me", Before: mine[4], Limit: 3}, mine[5:8]},
			"open":           {RequestFilter{Caller: "user:me", Open: true, Limit: 50}, waiting},
			"open page":      {RequestFilter{Caller: "user:me", Open: true, Before: waiting[0], Limit: 50}, waiting[1:]},
			"closed":         {RequestFilter{Caller: "user:me", Closed: true, AgentIDs: []string{"agent_b"}, Limit: 50}, elsewhere},
			"agent":          {RequestFilter{Caller: "user:me", AgentIDs: []string{"agent_b"}, Limit: 50}, elsewhere},
			"open of agent":  {RequestFilter{Caller: "user:me", AgentIDs: []string{"agent_b"}, Open: true, Limit: 50}, nil},
			"two agents":     {RequestFilter{Caller: "user:me", AgentIDs: []string{"agent_a", "agent_b"}, Limit: 7}, mine[:7]},
			"nobody's":       {RequestFilter{Caller: "user:nobody", Limit: 50}, nil},
			"owner's agents": {RequestFilter{AgentIDs: []string{"agent_b", "agent_c"}, Limit: 4}, elsewhere[:4]},
		} {
			found, err := l.Requests(t.Context(), c.f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got []string
			for _, r := range found {
				got = append(got, r.ID)
				if (r.Open == nil) == (r.Done == nil) || (r.Open != nil) != slices.Contains(waiting, r.ID) {
					t.Errorf("%s: %s is open %v and done %v", name, r.ID, r.Open, r.Done)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
		if r, err := l.Request(t.Context(), "user:me", elsewhere[0]); err != nil || r.Done == nil || r.Done.Body != "done" || r.AgentID != "agent_b" {
			t.Errorf("Request = %+v, %v", r, err)
		}
		if _, err := l.Request(t.Context(), "user:you", elsewhere[0]); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("somebody else's: %v", err)
		}
	})
}

// TestOpenListUsesItsIndex: it may not look at every row, or sort what it found.
// The others are found as calls.
func TestOpenListUsesItsIndex(t *testing.T) {
	l := openSQLite(t, Options{})
	for _, f := range listings() {
		if !f.Open {
			continue
		}
		q := f.openClause()
		rows, err := l.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.text.String(), q.args...)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, zero int
			var step string
			if err := rows.Scan(&id, &parent, &zero, &step); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, step)
		}
		rows.Close()
		p := strings.Join(plan, "; ")
		if strings.Contains(p, "SCAN") || strings.Contains(p, "TEMP B-TREE") {
			t.Errorf("%s: %s", f.name, p)
		}
	}
}

// listing is a list that people look at. Its name has no spaces, since it is the
// name of a benchmark, too.
type listing struct {
	name string
	RequestFilter
}

func listings() []listing {
	me, x, y := "user:me", []string{"agent_x"}, []string{"agent_y"}
	middle := fmt.Sprintf("%08x-0000-7000-8000-000000000000", 500_000)
	return []listing{
		{"mine", RequestFilter{Caller: me, Limit: 51}},
		{"mine,a-page-in-the-middle", RequestFilter{Caller: me, Before: middle, Limit: 51}},
		{"mine,active", RequestFilter{Caller: me, Open: true, Limit: 51}},
		{"mine,closed", RequestFilter{Caller: me, Closed: true, Limit: 51}},
		{"mine-with-one-agent", RequestFilter{Caller: me, AgentIDs: x, Limit: 51}},
		{"mine-with-a-rare-agent", RequestFilter{Caller: me, AgentIDs: y, Limit: 51}},
		{"mine-with-a-rare-agent,closed", RequestFilter{Caller: me, AgentIDs: y, Closed: true, Limit: 51}},
		{"all-of-an-agent", RequestFilter{AgentIDs: x, Limit: 51}},
	}
}

var stored = flag.Int("stored", 10_000, "BenchmarkListing: how many requests there are")

// BenchmarkListing lists 50 of many requests. All are one caller's, nearly all
// with one agent and done; the open ones are the oldest, and a tenth as many as
// there are requests are somebody else's and open.
func BenchmarkListing(b *testing.B) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			dsn := "sqlite:" + filepath.Join(b.TempDir(), "beeos.db") + "?durability=os"
			if engine == "postgres" {
				dsn = pgtest.URL(b)
			}
			l := openOn(b, dsn, Options{})
			fillRequests(b, l.db, *stored)
			for _, f := range listings() {
				b.Run(f.name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						begun := time.Now()
						if _, err := l.Requests(b.Context(), f.RequestFilter); err != nil {
							b.Fatal(err)
						}
						took = append(took, time.Since(begun))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
					b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
				})
			}
		})
	}
}

// fillRequests writes rows as the ledger would, in a few statements.
func fillRequests(b *testing.B, db *database.DB, n int) {
	b.Helper()
	const open = 1000
	numbers := `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d) `
	id := `printf('%%08x-0000-7000-8000-000000000000', n)`
	if db.Postgres {
		numbers, id = `WITH c AS (SELECT generate_series(1, %d) AS n) `, `lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000'`
	}
	const columns = `(channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, agent_id) `
	for _, text := range []string{
		fmt.Sprintf(`INSERT INTO messages `+columns+numbers+`SELECT 'ch-' || `+id+`, 1, `+id+`, 'chat_message', '', FALSE, '', '', 'user:me', 'hello', '', '{"tool":"x"}', n,
			CASE WHEN n %% 100000 = 50000 THEN 'agent_y' ELSE 'agent_x' END FROM c`, n),
		fmt.Sprintf(`INSERT INTO messages `+columns+numbers+`SELECT 'ch-' || `+id+`, 2, 'r' || n, 'agent_reply', `+id+`, TRUE, 'completed', 'end_turn', 'agent:x', 'hello', '', '', n, ''
			FROM c WHERE n > %d`, n, open),
		fmt.Sprintf(`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner) `+
			numbers+`SELECT `+id+`, 'ch-' || `+id+`, 1, 'agent_x', '', n, TRUE, 1, 0, FALSE, 'push', 'always', 0, 'user:me' FROM c`, open),
		fmt.Sprintf(`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner) `+
			numbers+`SELECT '0' || n, 'none', 1, 'agent_z', '', n, TRUE, 1, 0, FALSE, 'push', 'always', 0, 'user:you' FROM c`, n/10),
		`INSERT INTO routes (id, agent_id, caller, surface, tool, seen_at) SELECT CASE agent_id WHEN 'agent_x' THEN 1 ELSE 2 END, agent_id, publisher, '', '', MAX(created_at)
			FROM messages WHERE type = 'chat_message' GROUP BY publisher, agent_id`,
		`UPDATE messages SET route = CASE agent_id WHEN 'agent_x' THEN 1 ELSE 2 END, n = created_at WHERE type = 'chat_message'`,
	} {
		if _, err := db.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	if db.Postgres {
		if _, err := db.ExecContext(b.Context(), `ANALYZE`); err != nil {
			b.Fatal(err)
		}
	}
}
