package faults

import (
	"context"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/verify"
)

// records is what the database holds, read without the server.
type records struct {
	t  testing.TB
	db *store.Store
}

func (n *node) records() records { return records{n.t, n.open()} }

// number returns the one number that a query gives.
func (r records) number(query string, args ...any) int {
	r.t.Helper()
	var n int
	if err := r.db.QueryRowContext(r.t.Context(), query, args...).Scan(&n); err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// each hands the rows of a query with two columns to f.
func (r records) each(query string, f func(a, b string)) {
	r.t.Helper()
	rows, err := r.db.QueryContext(r.t.Context(), query)
	if err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b string
		if err := rows.Scan(&a, &b); err != nil {
			r.t.Fatalf("%s: %v", query, err)
		}
		f(a, b)
	}
	if err := rows.Err(); err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
}

// none complains unless the query counts to zero.
func (r records) none(what, query string) {
	r.t.Helper()
	if n := r.number(query); n != 0 {
		r.t.Errorf("%d %s", n, what)
	}
}

// settled waits until no request waits for its reply any more.
func (r records) settled(within time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), within)
	defer cancel()
	for {
		n := r.number(`SELECT count(*) FROM deliveries`)
		if n == 0 {
			return
		}
		if !pause(ctx, 50*time.Millisecond) {
			r.t.Fatalf("%d requests have no reply after %s", n, within)
		}
	}
}

// until waits for the database to be as f wants it.
func (r records) until(what string, f func(records) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for !f(r) {
		if !pause(ctx, 20*time.Millisecond) {
			r.t.Fatalf("this does not come: %s", what)
		}
	}
}

// sound checks what must hold whatever happened: exactly one terminal reply
// for each request, offsets that rise and are never handed out twice.
func (r records) sound(requests int) {
	r.t.Helper()
	if requests >= 0 {
		if n := r.number(`SELECT count(*) FROM messages WHERE type = 'chat_message'`); n != requests {
			r.t.Errorf("%d requests are stored, %d were made", n, requests)
		}
	}
	r.none("requests without a terminal reply", `SELECT count(*) FROM messages q LEFT JOIN messages a ON a.in_reply_to = q.id AND a.terminal
		WHERE q.type = 'chat_message' AND a.id IS NULL`)
	r.none("requests with two terminal replies", `SELECT count(*) FROM (
		SELECT in_reply_to || '' AS turn, count(*) AS n FROM messages WHERE terminal GROUP BY in_reply_to || '') x WHERE n > 1`)
	r.none("terminal replies to nothing, or before their request", `SELECT count(*) FROM messages a
		LEFT JOIN messages q ON q.id = a.in_reply_to AND q.type = 'chat_message'
		WHERE a.terminal AND (q.id IS NULL OR q.channel <> a.channel OR q.off >= a.off)`)
	r.none("messages past the end of their channel, or without one", `SELECT count(*) FROM messages m
		LEFT JOIN channels c ON c.id = m.channel AND m.off < c.next_off WHERE c.id IS NULL`)
	r.none("message ids that are there twice", `SELECT count(*) FROM (SELECT id, count(*) AS n FROM messages GROUP BY id) x WHERE n > 1`)
	report, err := verify.Run(r.t.Context(), r.db, verify.Options{})
	if err != nil || !report.Clean() {
		r.t.Errorf("verify finds %+v, %v", report.Findings, err)
	}
	if !r.db.Postgres { // rows are numbered as they come
		r.none("offsets that fall", `SELECT count(*) FROM (
			SELECT off, lag(off) OVER (PARTITION BY channel ORDER BY rowid) AS before FROM messages) x WHERE off <= before`)
	}
}
