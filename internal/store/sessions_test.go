package store

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSessionsLeaveTheirMark(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx := context.Background()
		now := time.Now().UTC().Truncate(time.Microsecond)
		later := now.Add(time.Hour)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		if level, err := db.SessionLevel(ctx, "s1"); level != "" || err != nil {
			t.Errorf("level %q, %v", level, err)
		}
		must(db.SetSessionLevel(ctx, "s1", "error", later))
		must(db.SetSessionLevel(ctx, "s1", "debug", later))
		must(db.Subscribe(ctx, "s1", "b", later))
		must(db.Subscribe(ctx, "s1", "a", later))
		must(db.Subscribe(ctx, "s1", "a", later))
		must(db.Subscribe(ctx, "s2", "c", later))
		must(db.Unsubscribe(ctx, "s1", "b"))
		must(db.Unsubscribe(ctx, "s1", "never"))
		if level, err := db.SessionLevel(ctx, "s1"); level != "debug" || err != nil {
			t.Errorf("level %q, %v", level, err)
		}
		uris, err := db.Subscriptions(ctx, "s1")
		if diff := cmp.Diff([]string{"a"}, uris); diff != "" || err != nil {
			t.Error(diff, err)
		}
		must(db.EndSession(ctx, EndedSession{ID: "s1", EndedAt: now, Expires: later}))
		must(db.EndSession(ctx, EndedSession{ID: "s3", EndedAt: now, Expires: later}))
		if uris, err := db.Subscriptions(ctx, "s1"); len(uris) != 0 || err != nil {
			t.Errorf("an ended session watches %v, %v", uris, err)
		}
		if ended, err := db.EndedSessions(ctx, now.Add(-time.Second)); len(ended) != 2 || !ended[0].Expires.Equal(later) || err != nil {
			t.Errorf("ended %v, %v", ended, err)
		}
		if ended, err := db.EndedSessions(ctx, now.Add(time.Second)); len(ended) != 0 || err != nil {
			t.Errorf("ended later %v, %v", ended, err)
		}
		must(db.Prune(ctx, later.Add(time.Second)))
		if ended, err := db.EndedSessions(ctx, now); len(ended) != 0 || err != nil {
			t.Errorf("after pruning %v, %v", ended, err)
		}
		if uris, err := db.Subscriptions(ctx, "s2"); len(uris) != 0 || err != nil {
			t.Errorf("after pruning %v, %v", uris, err)
		}
	})
}
