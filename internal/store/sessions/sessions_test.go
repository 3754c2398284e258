package sessions_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/sessions"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestSessionsLeaveTheirMark(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := context.Background()
		now := time.Now().UTC().Truncate(time.Microsecond)
		later := now.Add(time.Hour)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		if level, err := db.Sessions.GetLevel(ctx, "s1"); level != "" || err != nil {
			t.Errorf("level %q, %v", level, err)
		}
		must(db.Sessions.SetLevel(ctx, "me", "s1", "error", later))
		must(db.Sessions.SetLevel(ctx, "me", "s1", "debug", later))
		must(db.Sessions.Subscribe(ctx, "me", "s1", "b", later))
		must(db.Sessions.Subscribe(ctx, "me", "s1", "a", later))
		must(db.Sessions.Subscribe(ctx, "me", "s1", "a", later))
		must(db.Sessions.Subscribe(ctx, "me", "s2", "c", later))
		must(db.Sessions.Unsubscribe(ctx, "s1", "b"))
		must(db.Sessions.Unsubscribe(ctx, "s1", "never"))
		if level, err := db.Sessions.GetLevel(ctx, "s1"); level != "debug" || err != nil {
			t.Errorf("level %q, %v", level, err)
		}
		uris, err := db.Sessions.ListSubscriptions(ctx, "s1")
		if diff := cmp.Diff([]string{"a"}, uris); diff != "" || err != nil {
			t.Error(diff, err)
		}
		must(db.Sessions.End(ctx, sessions.Ended{ID: "s1", EndedAt: now, Expires: later}))
		must(db.Sessions.End(ctx, sessions.Ended{ID: "s3", EndedAt: now, Expires: later}))
		if uris, err := db.Sessions.ListSubscriptions(ctx, "s1"); len(uris) != 0 || err != nil {
			t.Errorf("an ended session watches %v, %v", uris, err)
		}
		if ended, err := db.Sessions.ListEnded(ctx, now.Add(-time.Second)); len(ended) != 2 || !ended[0].Expires.Equal(later) || err != nil {
			t.Errorf("ended %v, %v", ended, err)
		}
		if ended, err := db.Sessions.ListEnded(ctx, now.Add(time.Second)); len(ended) != 0 || err != nil {
			t.Errorf("ended later %v, %v", ended, err)
		}
		must(db.Cluster.Prune(ctx, later.Add(time.Second)))
		if ended, err := db.Sessions.ListEnded(ctx, now); len(ended) != 0 || err != nil {
			t.Errorf("after pruning %v, %v", ended, err)
		}
		if uris, err := db.Sessions.ListSubscriptions(ctx, "s2"); len(uris) != 0 || err != nil {
			t.Errorf("after pruning %v, %v", uris, err)
		}
	})
}

// TestEndedSessionsAreBounded: whoever begins and ends sessions, sets levels or
// subscribes without end fills neither the database nor anybody else's room.
func TestEndedSessionsAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := context.Background()
		now := time.Now().UTC().Truncate(time.Microsecond)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(db.Sessions.End(ctx, sessions.Ended{ID: "other", Owner: "other", EndedAt: now, Expires: now.Add(time.Minute)}))
		const more = 50
		for i := range sessions.MarksPerOwner + more {
			id, expires := fmt.Sprint("s", i), now.Add(time.Hour+time.Duration(i)*time.Second)
			if i%2 == 0 {
				must(db.Sessions.SetLevel(ctx, "me", id, "debug", expires))
			}
			must(db.Sessions.End(ctx, sessions.Ended{ID: id, Owner: "me", EndedAt: now.Add(time.Duration(i)), Expires: expires}))
		}
		ended, err := db.Sessions.ListEnded(ctx, time.Time{})
		must(err)
		kept := map[string]bool{}
		for _, s := range ended {
			kept[s.ID] = true
		}
		if len(ended) != sessions.MarksPerOwner+1 || !kept["other"] || kept["s0"] || !kept[fmt.Sprint("s", more)] {
			t.Errorf("%d ended sessions are kept, those of others %v", len(ended), kept["other"])
		}
		must(db.Sessions.Subscribe(ctx, "other", "other", "a", now))
		for i := range 60 {
			session := fmt.Sprint("w", i)
			_, err := db.DB.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
				INSERT INTO mcp_subscriptions (session, owner, uri, expires_at) SELECT $1, 'me', 'u' || i, $2 FROM n`, session, now.Add(time.Duration(i)*time.Second).UnixMicro())
			must(err)
			must(db.Sessions.Subscribe(ctx, "me", session, "last", now.Add(time.Duration(i)*time.Second)))
		}
		first, err := db.Sessions.ListSubscriptions(ctx, "w0")
		must(err)
		last, err := db.Sessions.ListSubscriptions(ctx, "w59")
		must(err)
		others, err := db.Sessions.ListSubscriptions(ctx, "other")
		must(err)
		if len(first) != 0 || len(last) != 201 || len(others) != 1 {
			t.Errorf("%d of the first session, %d of the last, %d of others", len(first), len(last), len(others))
		}
	})
}
