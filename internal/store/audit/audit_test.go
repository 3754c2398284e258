package audit_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestAudit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		rows := []audit.Row{
			{OwnerID: "u1", At: database.Now(), Actor: "user:u1", Action: "key.create", Subject: "k1", Detail: map[string]string{"name": "ci \x00"}},
			{OwnerID: "u2", At: database.Now().Add(time.Second), Actor: "user:u2", Action: "agent.delete", Subject: "a1"},
			{OwnerID: "u1", At: database.Now().Add(2 * time.Second), Actor: "user:u1", Action: "key.revoke", Subject: "k1"},
		}
		for _, r := range rows {
			if err := db.Audit.Add(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		read := func(owner string, limit int) (actions []string) {
			list, err := db.Audit.List(ctx, owner, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				actions = append(actions, r.OwnerID+" "+r.Action)
			}
			return actions
		}
		if diff := cmp.Diff([]string{"u1 key.revoke", "u1 key.create"}, read("u1", 10)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"u1 key.revoke", "u2 agent.delete"}, read("", 2)); diff != "" {
			t.Error(diff)
		}
		for name, c := range map[string]struct {
			filter audit.Filter
			want   []string
		}{
			"all":               {audit.Filter{}, []string{"u1 key.revoke", "u2 agent.delete", "u1 key.create"}},
			"an action":         {audit.Filter{Action: "key.create"}, []string{"u1 key.create"}},
			"actions":           {audit.Filter{Action: "key."}, []string{"u1 key.revoke", "u1 key.create"}},
			"no pattern":        {audit.Filter{Action: "%"}, nil},
			"a person":          {audit.Filter{Actor: "user:u2"}, []string{"u2 agent.delete"}},
			"an agent":          {audit.Filter{Subject: "a1"}, []string{"u2 agent.delete"}},
			"whose":             {audit.Filter{OwnerID: "u1", Subject: "a1"}, nil},
			"since":             {audit.Filter{Since: rows[1].At}, []string{"u1 key.revoke", "u2 agent.delete"}},
			"until, and before": {audit.Filter{Until: rows[2].At, Since: rows[1].At}, []string{"u2 agent.delete"}},
		} {
			found, err := db.Audit.Find(ctx, c.filter, 10)
			var actions []string
			for _, r := range found {
				actions = append(actions, r.OwnerID+" "+r.Action)
			}
			if diff := cmp.Diff(c.want, actions); err != nil || diff != "" {
				t.Errorf("%s: %v %s", name, err, diff)
			}
		}
		list, err := db.Audit.List(ctx, "u1", 10)
		if err != nil || list[1].Detail["name"] != "ci \x00" || !list[1].At.Equal(rows[0].At) {
			t.Errorf("row came back as %+v, %v", list[1], err)
		}
	})
}

// TestDeedsAreWrittenDownThoughTheirCallerHasGone: whoever hangs up in time to miss
// the answer does not miss the trail.
func TestDeedsAreWrittenDownThoughTheirCallerHasGone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		gone, leave := context.WithCancel(t.Context())
		leave()
		db.Audit.Record(gone, slog.New(slog.DiscardHandler), audit.Row{OwnerID: "u1", Actor: "user:u1", Action: audit.KeyCreate, Subject: "k1"})
		rows, err := db.Audit.List(t.Context(), "u1", 10)
		if err != nil || len(rows) != 1 || rows[0].Action != "key.create" || rows[0].At.IsZero() {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}
