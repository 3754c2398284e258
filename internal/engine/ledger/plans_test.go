package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// walks are the statements that may look at all open requests: none of them
// runs inside the writer, and each reads a page's worth of short rows.
var walks = []string{
	`SELECT DISTINCT agent_id FROM deliveries`,               // an index of those that wait, and nothing else
	`SELECT COUNT(*) FROM deliveries`,                        // for the operator, some times a minute: an index
	`SELECT COUNT(*), COALESCE(MIN(seq), 0) FROM deliveries`, // the same
	`FROM deliveries WHERE (leased AND lease_until < $1)`,    // the sweep, once a second: an index on
	`FROM deliveries WHERE NOT leased AND (mode <> 'queue'`,  // leases would cost every call more than this look
	`LIMIT 2000) AS g`,    // a glance at the newest calls, these and no others
	`LIMIT 1 OFFSET 1999`, // and where it ends
}

// TestStatementsUseTheirIndex runs all that a call and the sweeps do while
// 10,000 requests wait in one lane, and asks the database how it would do that.
func TestStatementsUseTheirIndex(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		seen := &recorder{texts: map[string]bool{}}
		path := filepath.Join(t.TempDir(), "recorded.db")
		l := openOn(t, "sqlite:"+path, Options{})
		l.Close()
		l.db.DB = sql.OpenDB(recordingConnector{l.db.Driver(), "file:" + path + "?_txlock=immediate", seen})
		recorded, err := Open(t.Context(), l.db, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(recorded.Close)
		fillLane(t, recorded)
		useEverything(t, recorded)
		for _, text := range slices.DeleteFunc(slices.Collect(maps.Keys(seen.texts)), isNoQuery) {
			if plan := explainSQLite(t, recorded, text); strings.Contains(plan, "SCAN") && !mayWalk(text) {
				t.Errorf("%s\n\t%s", text, plan)
			}
		}
		if len(seen.texts) < 40 {
			t.Errorf("only %d statements were seen", len(seen.texts))
		}
	})
	t.Run("postgres", func(t *testing.T) {
		l := openOn(t, pgtest.URL(t), Options{})
		l.db.SetMaxOpenConns(len(l.writers) + 1)
		fillLane(t, l)
		useEverything(t, l)
		reader, err := l.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		count := 0
		for _, conn := range []*sql.Conn{l.writers[0].conn, l.writers[1].conn, reader} {
			for text, plan := range explainPostgres(t, conn) {
				count++
				if bad := plan.walk(); bad != "" && !mayWalk(text) {
					t.Errorf("%s\n\t%s", text, bad)
				}
			}
		}
		if count < 40 {
			t.Errorf("only %d statements were seen", count)
		}
	})
}

// isNoQuery is true of what looks for nothing, and of what this test asks itself.
func isNoQuery(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	return !slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "INSERT"}, word) ||
		strings.Contains(text, "RECURSIVE") || strings.Contains(text, "goose_db_version") || strings.Contains(text, "pg_prepared_statements")
}

func mayWalk(text string) bool {
	return slices.ContainsFunc(walks, func(w string) bool { return strings.Contains(text, w) })
}

// fillLane lets 10,000 requests wait in one lane, each with its own channel.
func fillLane(t *testing.T, l *Ledger) {
	t.Helper()
	rows := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) `
	for _, text := range []string{
		`INSERT INTO channels (id, agent_id, owner, kind, single_shot, closed_reason, next_off, deadline, metadata, created_at, updated_at) ` + rows +
			`SELECT 'c' || i, 'agent_a', 'user:u', 'conversation', FALSE, '', 2, 0, '', 1, 9000000000000000 FROM n`,
		`INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, agent_id) ` + rows +
			`SELECT 'c' || i, 1, 't' || i, 'chat_message', '', FALSE, '', '', 'user:u', 'hello', '', '', 1, 'agent_a' FROM n`,
		`INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, agent_id) ` + rows +
			`SELECT 'old' || i, 2, 'r' || i, 'agent_reply', 'o' || i, TRUE, 'completed', 'end_turn', 'agent:agent_a', 'hi', '', '', 1, '' FROM n`,
		`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner) ` + rows +
			`SELECT 't' || i, 'c' || i, 1, 'agent_a', 'agent_a', i, FALSE, 0, 9000000000000000, FALSE, 'queue', 'always', 0, 'user:' || (i % 100) FROM n`,
		`INSERT INTO idempotency (scope, key, turn, channel, fingerprint, expires_at) ` + rows +
			`SELECT 's', 'k' || i, 't' || i, 'c' || i, '', 9000000000000000 FROM n`,
		`INSERT INTO routes (id, agent_id, caller, surface, tool, seen_at) ` + rows + `SELECT i, 'agent_' || i, 'user:' || i, '', '', 1 FROM n`,
		`ANALYZE`,
	} {
		if _, err := l.db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// useEverything goes through the ledger as calls, sweeps and lists do.
func useEverything(t *testing.T, l *Ledger) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil && beeos.CodeOf(err) != beeos.NotFound {
			t.Fatal(err)
		}
	}
	_, _, err := l.Backlog(ctx, "agent_a")
	must(err)
	_, err = l.Backlogs(ctx, []string{"agent_a", "agent_b"})
	must(err)
	for i, mode := range []beeos.DeliveryMode{beeos.DeliverPush, beeos.DeliverQueue, beeos.DeliverBusyReject} {
		o := request("agent_a")
		o.Delivery.Mode = mode
		if mode == beeos.DeliverBusyReject {
			o.Delivery.Lane = "busy"
		}
		key := &Idempotency{Scope: "s", Key: fmt.Sprint("new", i), Fingerprint: []byte("f"), Expires: time.Now().Add(time.Hour)}
		o.Idempotency = key
		_, _, err := l.BeginRequest(ctx, o)
		must(err)
		_, _, err = l.BeginRequest(ctx, o) // the key is known
		must(err)
		_, err = l.FindByKey(ctx, key)
		must(err)
		lease := []Lease{{Turn: o.Message.ID, Attempt: 1}}
		must(l.MarkStarted(ctx, o.Message.ID))
		must(l.ExtendLeases(ctx, lease, time.Now().Add(time.Minute)))
		_, err = l.Append(ctx, beeos.Message{Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.AgentInputRequired, Body: "which?"})
		must(err)
		if mode == beeos.DeliverPush {
			_, err = l.AppendAnswer(ctx, beeos.Message{Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.Continue}, beeos.AgentInputRequired)
			must(err)
		}
		_, err = l.Append(ctx, beeos.Message{Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.ChatCancel})
		must(err)
		must(l.ReleaseLeases(ctx, lease, Attempt{Why: beeos.InstanceGone}))
		must(l.UndoClaim(ctx, lease))
		d, err := l.OpenDelivery(ctx, o.Message.ID)
		must(err)
		_, _, err = l.ResumeDelivery(ctx, &d, time.Now().Add(time.Minute))
		must(err)
		_, err = l.OpenTurns(ctx, o.Channel.ID)
		must(err)
		_, err = l.Finish(ctx, reply(o, "hi"))
		must(err)
		if _, err := l.Finish(ctx, reply(o, "again")); beeos.CodeOf(err) != beeos.MessageTerminal {
			t.Errorf("a second reply: %v", err)
		}
		_, err = l.Request(ctx, "user:u", o.Message.ID)
		must(err)
		_, err = l.Messages(ctx, o.Channel.ID, 0, 10)
		must(err)
		_, _, err = l.LatestMessages(ctx, o.Channel.ID, 10, 100)
		must(err)
		_, err = l.RequestMessages(ctx, o.Channel.ID, o.Message.ID, 0, 10)
		must(err)
		_, err = l.Message(ctx, o.Channel.ID, 1)
		must(err)
		_, err = l.FindMessage(ctx, o.Channel.ID, o.Message.ID)
		must(err)
		_, err = l.Channel(ctx, o.Channel.ID)
		must(err)
		must(l.ReadEnds(ctx, []string{o.Channel.ID}, func(string, int64, bool) {}))
		_, err = l.Terminals(ctx, []string{o.Message.ID})
		must(err)
	}
	claimed, err := l.ClaimDeliveries(ctx, "agent_a", time.Now().Add(time.Minute), 10)
	if err != nil || len(claimed) == 0 || claimed[0].Turn != "t1" {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	_, err = l.Sweep(ctx)
	must(err)
	_, err = l.Load(ctx)
	must(err)
	c := beeos.Channel{ID: "conv", AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindConversation, Title: "t"}
	must(l.CreateChannel(ctx, c))
	must(l.RenameChannel(ctx, "conv", "other"))
	must(l.SetModel(ctx, "conv", "m"))
	_, err = l.ClearHistory(ctx, "conv")
	must(err)
	_, err = l.ClaimKey(ctx, Idempotency{Scope: "s", Key: "act", Fingerprint: []byte("f"), Expires: time.Now().Add(time.Hour)}, "conv")
	must(err)
	must(l.CloseChannel(ctx, "conv", "done"))
	must(l.DeleteChannel(ctx, "conv"))
	must(l.Forget(ctx, time.Hour))
	must(l.releaseStale(ctx, []Lease{{"t1", 1}}, 1))
	for _, f := range listings() {
		_, err := l.Requests(ctx, f.RequestFilter)
		must(err)
	}
}

func explainSQLite(t *testing.T, l *Ledger, text string) string {
	t.Helper()
	parameters := strings.Count(text, "?")
	for strings.Contains(text, fmt.Sprint("$", parameters+1)) {
		parameters++
	}
	rows, err := l.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, parameters)...)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return ""
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, zero int
		var step string
		if err := rows.Scan(&id, &parent, &zero, &step); err != nil {
			t.Fatal(err)
		}
		// A list of values is no table.
		if !strings.Contains(step, "CONSTANT ROW") && !strings.HasPrefix(step, "SCAN v") {
			plan = append(plan, step)
		}
	}
	return strings.Join(plan, "; ")
}

// recorder remembers the statements that went to SQLite.
type recorder struct {
	mu    sync.Mutex
	texts map[string]bool
}

func (r *recorder) add(text string) {
	r.mu.Lock()
	r.texts[text] = true
	r.mu.Unlock()
}

type recordingConnector struct {
	driver driver.Driver
	name   string
	seen   *recorder
}

func (c recordingConnector) Driver() driver.Driver { return c.driver }

func (c recordingConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.name)
	if err != nil {
		return nil, err
	}
	return recordingConn{conn.(wholeConn), c.seen}, nil
}

type wholeConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type recordingConn struct {
	wholeConn
	seen *recorder
}

func (c recordingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.seen.add(text)
	return c.wholeConn.PrepareContext(ctx, text)
}

func (c recordingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.seen.add(text)
	return c.wholeConn.ExecContext(ctx, text, args)
}

func (c recordingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.seen.add(text)
	return c.wholeConn.QueryContext(ctx, text, args)
}

// plan is a node of what PostgreSQL says to do.
type plan struct {
	Type  string `json:"Node Type"`
	Table string `json:"Relation Name"`
	Index string `json:"Index Name"`
	Cond  string `json:"Index Cond"`
	Plans []plan
}

// walk names a node that looks at every row of a table, or of an index, save the
// one of the lanes in which somebody works, which is short.
func (p *plan) walk() string {
	if p.Type == "Seq Scan" || strings.HasPrefix(p.Type, "Index") && p.Cond == "" && p.Index != "deliveries_one_flight" {
		return p.Type + " on " + p.Table + " " + p.Index
	}
	for i := range p.Plans {
		if bad := p.Plans[i].walk(); bad != "" {
			return bad
		}
	}
	return ""
}

// explainPostgres returns the plans of what a connection has prepared, by text.
// A table that is small today is to be treated as if it were large.
func explainPostgres(t *testing.T, conn *sql.Conn) map[string]plan {
	t.Helper()
	ctx := t.Context()
	for _, set := range []string{`SET plan_cache_mode = force_generic_plan`, `SET enable_seqscan = off`} {
		if _, err := conn.ExecContext(ctx, set); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.QueryContext(ctx, `SELECT name, statement, COALESCE(array_length(parameter_types, 1), 0) FROM pg_prepared_statements`)
	if err != nil {
		t.Fatal(err)
	}
	type prepared struct {
		name, text string
		parameters int
	}
	var all []prepared
	for rows.Next() {
		var p prepared
		if err := rows.Scan(&p.name, &p.text, &p.parameters); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	rows.Close()
	found := map[string]plan{}
	for _, p := range all {
		if isNoQuery(p.text) {
			continue
		}
		args := ""
		if p.parameters > 0 {
			args = "(" + strings.TrimSuffix(strings.Repeat("NULL,", p.parameters), ",") + ")"
		}
		var out []byte
		if err := conn.QueryRowContext(ctx, `EXPLAIN (FORMAT JSON) EXECUTE "`+p.name+`"`+args).Scan(&out); err != nil {
			t.Fatalf("%s: %v", p.text, err)
		}
		var top []struct{ Plan plan }
		if err := json.Unmarshal(out, &top); err != nil {
			t.Fatal(err)
		}
		found[p.text] = top[0].Plan
	}
	return found
}
