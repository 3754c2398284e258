package sessions_test

import (
	"context"
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
		must(db.Sessions.SetLevel(ctx, "s1", "error", later))
		must(db.Sessions.SetLevel(ctx, "s1", "debug", later))
		must(db.Sessions.Subscribe(ctx, "s1", "b", later))
		must(db.Sessions.Subscribe(ctx, "s1", "a", later))
		must(db.Sessions.Subscribe(ctx, "s1", "a", later))
		must(db.Sessions.Subscribe(ctx, "s2", "c", later))
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
