package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// TestVisits: a session per key, shared while it is in use, ended when it was
// idle for long or when others need its place.
func TestVisits(t *testing.T) {
	now, opened := time.Now(), 0
	v := visits{now: func() time.Time { return now }, byKey: map[string]*visit{}}
	v.open = func(context.Context, session.Object) (*session.Session, error) {
		opened++
		return session.NewSession(session.OpenStreams("http://localhost:1", nil, http.DefaultClient, slog.Default()), slog.Default(), nil), nil
	}
	enter := func(key string) (*session.Session, func()) {
		t.Helper()
		s, leave, err := v.enter(t.Context(), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, leave
	}
	a, leave1 := enter("a")
	again, leave2 := enter("a")
	if a != again || opened != 1 {
		t.Errorf("%d sessions for one key", opened)
	}
	leave1()
	now = now.Add(2 * visitIdle)
	v.sweep()
	if a.Over() {
		t.Error("a session that is in use was ended")
	}
	leave2()
	now = now.Add(2 * visitIdle)
	v.sweep()
	if !a.Over() || len(v.byKey) != 0 {
		t.Error("an idle session was not ended")
	}

	first, leave := enter("0")
	leave()
	for i := range visitsMost - 1 {
		now = now.Add(time.Second)
		enter(fmt.Sprint(i + 1))
	}
	enter("one more")
	if !first.Over() {
		t.Error("the session that was idle did not make room")
	}
	if _, _, err := v.enter(t.Context(), "too many", nil); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	for _, one := range v.byKey {
		one.users = 0
	}
	v.end()
	if len(v.byKey) != 0 {
		t.Errorf("%d sessions are left", len(v.byKey))
	}
	v.open = func(context.Context, session.Object) (*session.Session, error) { return nil, upstream.ErrAbsent }
	if _, _, err := v.enter(t.Context(), "a", nil); !errors.Is(err, upstream.ErrAbsent) || len(v.byKey) != 0 {
		t.Errorf("%v, %d", err, len(v.byKey))
	}
}
