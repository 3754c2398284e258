package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/store/sessions"
	"github.com/beeos/beeos/test/pgtest"
)

// fill puts something into every table of the schema.
func fill(t *testing.T, db *Store) {
	t.Helper()
	ctx := t.Context()
	u, inst := owner(t, db, "a@example.com")
	id := sync(t, db, inst, rawDefinition(), beeos.Definition{Name: "b"}).IDs()["b"]
	_, token := db.Instances.CreateJoinToken(ctx, u.ID, time.Hour)
	_, secret := db.Cluster.Secret(ctx, "s", func() []byte { return []byte{0, 1, 255} })
	_, nonce := db.Cluster.UseNonce(ctx, "key", "nonce", time.Now())
	_, _, approval := db.Approvals.Ask(ctx, question(u.ID, "m1", `{"a": 1}`, database.Now()), "r")
	_, quota := db.Cluster.DrawQuota(ctx, database.Now(), []cluster.Draw{{Credential: "k", Agent: id, PerMinute: 60, Want: 1}})
	err := errors.Join(token, secret, nonce, quota, approval,
		db.Approvals.SetRules(ctx, []approvals.Rule{{AgentID: id, Tool: "save_csv", Mode: approvals.ModeAsk, UpdatedAt: database.Now()}}),
		db.Keys.Create(ctx, beeos.Key{ID: "k", Kind: beeos.AgentKey, OwnerID: u.ID, AgentID: id}, hashOf("k")),
		db.Audit.Add(ctx, audit.Row{Actor: "a", Action: "b", Subject: "c", Detail: map[string]string{"d": "e"}}),
		db.Cluster.PutNode(ctx, cluster.Node{ID: "n", SeenAt: database.Now()}),
		db.Sessions.End(ctx, sessions.Ended{ID: "s", EndedAt: database.Now(), Expires: database.Now()}),
		db.Sessions.Subscribe(ctx, "s", "note://a", database.Now()),
		db.Files.Create(ctx, files.File{ID: "f", Owner: "user:" + u.ID, OwnerID: u.ID, Filename: "a", ContentType: "text/plain", CreatedAt: database.Now(), ExpiresAt: database.Now()}))
	if err != nil {
		t.Fatal(err)
	}
	fillPeople(t, db, u)
	granted(t, db, u, "c", id)
	err = errors.Join(
		db.Grants.AddSigningKey(ctx, grants.SigningKey{ID: "k", Secret: []byte{0, 255}, CreatedAt: database.Now()}, database.Now(), true),
		db.Grants.CreateClient(ctx, grants.Client{ID: "c", RedirectURIs: []string{"https://app.example/cb"}}, 10),
		db.Grants.BeginFlow(ctx, grants.Flow{ID: "t", Binder: hashOf("b")}))
	if err != nil {
		t.Fatal(err)
	}
	news(t, db, aWebhook(t, db, "m1", "https://example.com/"), 2)
	fillSkills(t, db)
	fillLedger(t, db)
}

// fillLedger writes rows as the ledger does, many of them, so that the copy
// needs several batches.
func fillLedger(t *testing.T, db *Store) {
	t.Helper()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO channels (id, agent_id, owner, kind, single_shot, closed_reason, next_off, deadline, metadata, created_at, updated_at)
		VALUES ('c', 'agent', 'user:u', 'chat', TRUE, '', 1235, 0, '{}', 1, 2)`)
	var rows []string
	for off := range 1234 {
		rows = append(rows, fmt.Sprintf("('c', %d, 'm%d', 'agent_reply', 'r%d', %v, '', '', '', 'body', '', '', 9007199254740993)", off+1, off, off, off%2 == 0))
	}
	exec("INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at) VALUES " + strings.Join(rows, ", "))
	exec("INSERT INTO idempotency (scope, key, turn, channel, fingerprint, expires_at) VALUES ('s', 'k', 'm1', 'c', $1, 3)", []byte{0xff, 0})
	exec("INSERT INTO callers (principal, agent_id, seen_at) VALUES ('user:u', 'a', 4)")
	exec(`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline)
		VALUES ('m1', 'c', 1, 'agent', '', 1, FALSE, 0, 0, TRUE, 'push', 'always', 0)`)
}

// dump reads every row of every table, in a form that is the same on both
// engines.
func dump(t *testing.T, db *Store) map[string][]string {
	t.Helper()
	tables, err := readSchema(t.Context(), db.DB, db)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, tb := range tables {
		rows, err := db.Query("SELECT " + strings.Join(tb.columns, ", ") + " FROM " + tb.name + " ORDER BY 1, 2")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, err := tb.row(rows)
			if err != nil {
				t.Fatal(err)
			}
			out[tb.name] = append(out[tb.name], fmt.Sprintf("%v", values))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if out[tb.name] == nil {
			out[tb.name] = []string{}
		}
	}
	return out
}

func TestCopy(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to func(t *testing.T) string
	}{
		{"sqlite to postgres", sqliteURL, func(t *testing.T) string { return pgtest.URL(t) }},
		{"postgres to sqlite", func(t *testing.T) string { return pgtest.URL(t) }, sqliteURL},
		{"sqlite to sqlite", sqliteURL, sqliteURL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, to := open(t, tt.from(t)), open(t, tt.to(t))
			fill(t, from)
			told := map[string]int{}
			if err := Copy(t.Context(), from, to, func(table string, rows int) { told[table] = rows }); err != nil {
				t.Fatal(err)
			}
			want := dump(t, from)
			if diff := cmp.Diff(want, dump(t, to)); diff != "" {
				t.Error(diff)
			}
			for table, rows := range want {
				if told[table] != len(rows) || len(rows) == 0 {
					t.Errorf("%s has %d rows, progress heard %d", table, len(rows), told[table])
				}
			}
			if k, err := to.Keys.GetByHash(t.Context(), hashOf("k")); err != nil || k.ID != "k" {
				t.Errorf("key in the target: %+v, %v", k, err)
			}
			err := Copy(t.Context(), from, to, nil)
			if err == nil || !strings.Contains(err.Error(), "the target is not empty") {
				t.Errorf("a second copy: %v", err)
			}
		})
	}
}

func TestCopyIsAllOrNothing(t *testing.T) {
	from, to := open(t, sqliteURL(t)), open(t, pgtest.URL(t))
	fill(t, from)
	// A row that SQLite keeps and PostgreSQL cannot.
	if _, err := from.Exec("UPDATE channels SET next_off = 'many'"); err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), from, to, nil); err == nil || !strings.Contains(err.Error(), "copy table channels") {
		t.Fatalf("got %v", err)
	}
	for table, rows := range dump(t, to) {
		if len(rows) > 0 {
			t.Errorf("%s has %d rows after a failed copy", table, len(rows))
		}
	}
}

func TestCopyMendsTextThatPostgresRefuses(t *testing.T) {
	from, to := open(t, sqliteURL(t)), open(t, pgtest.URL(t))
	fill(t, from)
	if _, err := from.Exec("UPDATE messages SET body = $1, payload = $2 WHERE off = 7", "a\x00b\xff", []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), from, to, nil); err != nil {
		t.Fatal(err)
	}
	var body, payload string
	if err := to.QueryRow("SELECT body, payload FROM messages WHERE off = 7").Scan(&body, &payload); err != nil || body != "a\uFFFDb\uFFFD" || payload != "bytes" {
		t.Errorf("%q %q %v", body, payload, err)
	}
}

func TestCopyStopsWithItsContext(t *testing.T) {
	from, to := open(t, sqliteURL(t)), open(t, pgtest.URL(t))
	fill(t, from)
	ctx, cancel := context.WithCancel(t.Context())
	err := Copy(ctx, from, to, func(string, int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
