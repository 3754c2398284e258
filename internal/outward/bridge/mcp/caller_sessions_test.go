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

// TestCallerSessions: a session per key, shared while it is in use, ended when it was
// idle for long or when others need its place.
func TestCallerSessions(t *testing.T) {
	now, opened := time.Now(), 0
	v := callerSessions{now: func() time.Time { return now }, byKey: map[string]*callerSession{}}
	v.open = func(context.Context, session.Object) (*session.Session, error) {
		opened++
		return session.New(session.OpenHTTP("http://localhost:1", nil, http.DefaultClient, slog.Default()), slog.Default(), nil), nil
	}
	enter := func(key string) (*session.Session, func()) {
		t.Helper()
		s, leave, err := v.acquire(t.Context(), key, nil)
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
	now = now.Add(2 * callerSessionIdle)
	v.closeIdle()
	if a.Ended() {
		t.Error("a session that is in use was ended")
	}
	leave2()
	now = now.Add(2 * callerSessionIdle)
	v.closeIdle()
	if !a.Ended() || len(v.byKey) != 0 {
		t.Error("an idle session was not ended")
	}

	first, leave := enter("0")
	leave()
	for i := range maxCallerSessions - 1 {
		now = now.Add(time.Second)
		enter(fmt.Sprint(i + 1))
	}
	enter("one more")
	if !first.Ended() {
		t.Error("the session that was idle did not make room")
	}
	if _, _, err := v.acquire(t.Context(), "too many", nil); !errors.Is(err, errTooManyCallers) {
		t.Errorf("%v", err)
	}
	for _, one := range v.byKey {
		one.users = 0
	}
	v.closeAll()
	if len(v.byKey) != 0 {
		t.Errorf("%d sessions are left", len(v.byKey))
	}
	v.open = func(context.Context, session.Object) (*session.Session, error) { return nil, upstream.ErrAbsent }
	if _, _, err := v.acquire(t.Context(), "a", nil); !errors.Is(err, upstream.ErrAbsent) || len(v.byKey) != 0 {
		t.Errorf("%v, %d", err, len(v.byKey))
	}
}
