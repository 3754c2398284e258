package signin

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/people"
)

func TestSession(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	ann := c.admin()
	begin := func() string {
		t.Helper()
		token, err := c.BeginSession(ctx, ann, people.Login{Method: "password", Address: "10.0.0.1", Device: "Firefox"})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	start := c.clock
	token := begin()
	u, login, err := c.FindSession(ctx, token)
	if err != nil || u.ID != ann.ID || login.Device != "Firefox" {
		t.Fatalf("%+v %+v %v", u, login, err)
	}
	for _, bad := range []string{"", "bos_", token + "0", token[:len(token)-1], beeos.NewSecret(sessionPrefix)} {
		_, _, err := c.FindSession(ctx, bad)
		wantCode(t, err, beeos.InvalidToken, "sign in again")
	}
	// It slides as long as it is used, but not for ever.
	for c.clock.Sub(start) < sessionMost-10*24*time.Hour {
		c.clock = c.clock.Add(10 * 24 * time.Hour)
		if _, _, err := c.FindSession(ctx, token); err != nil {
			t.Fatalf("after %s: %v", c.clock.Sub(start), err)
		}
	}
	c.clock = start.Add(sessionMost)
	_, _, err = c.FindSession(ctx, token)
	wantCode(t, err, beeos.InvalidToken)

	idle := begin()
	c.clock = c.clock.Add(sessionIdle)
	_, _, err = c.FindSession(ctx, idle)
	wantCode(t, err, beeos.InvalidToken)
}

// TestOwnAccountIsInItsTrail: what a person does with their own account, too.
func TestOwnAccountIsInItsTrail(t *testing.T) {
	c := newCrowd(t)
	bob := c.invited("bob@example.com")
	if _, err := c.BeginSession(t.Context(), bob, people.Login{}); err != nil {
		t.Fatal(err)
	}
	logins, err := c.ListSessions(t.Context(), bob.ID)
	if err != nil || len(logins) != 1 {
		t.Fatalf("%v, %v", logins, err)
	}
	for _, err := range []error{c.Rename(t.Context(), bob, " Bobby "), c.EndSessionByID(t.Context(), bob, logins[0].ID)} {
		if err != nil {
			t.Error(err)
		}
	}
	if got := c.actions(bob.ID); got != "user.accept user.end_session user.rename" {
		t.Error(got)
	}
}

func TestSigningOut(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(c *crowd, u beeos.User, token string) error
	}{
		{"here", func(c *crowd, _ beeos.User, token string) error { return c.EndSession(c.t.Context(), token) }},
		{"everywhere", func(c *crowd, u beeos.User, _ string) error { return c.EndSessions(c.t.Context(), u.ID) }},
		{"from the list", func(c *crowd, u beeos.User, _ string) error {
			list, err := c.ListSessions(c.t.Context(), u.ID)
			if err != nil || len(list) != 1 {
				return fmt.Errorf("%v, %w", list, err)
			}
			return c.EndSessionByID(c.t.Context(), u, list[0].ID)
		}},
		{"disabled", func(c *crowd, u beeos.User, _ string) error {
			return c.SetDisabled(c.t.Context(), u.ID, true)
		}},
		{"new password", func(c *crowd, u beeos.User, _ string) error {
			return c.ChangePassword(c.t.Context(), u, password, password+"!")
		}},
		{"reset", func(c *crowd, u beeos.User, _ string) error {
			token, err := c.CreateResetLink(c.t.Context(), u.ID, "operator")
			if err != nil {
				return err
			}
			_, err = c.AcceptLink(c.t.Context(), token, "", "", password+"!")
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCrowd(t)
			ctx := t.Context()
			bob := c.invited("bob@example.com")
			ended := ""
			c.EndTokens = func(_ context.Context, id string) error { ended = id; return nil }
			token, err := c.BeginSession(ctx, bob, people.Login{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []*People{c.People, c.replica} {
				if _, _, err := p.FindSession(ctx, token); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.end(c, bob, token); err != nil {
				t.Fatal(err)
			}
			if one := tt.name == "here" || tt.name == "from the list"; (ended == bob.ID) == one {
				t.Errorf("scripts of %q were signed out", ended)
			}
			_, _, err = c.FindSession(ctx, token)
			wantCode(t, err, beeos.InvalidToken)
			c.clock = c.clock.Add(sessionCache) // a replica that heard nothing
			_, _, err = c.replica.FindSession(ctx, token)
			wantCode(t, err, beeos.InvalidToken)
		})
	}
}
