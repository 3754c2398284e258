package signin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

func TestSignInSaysOneThing(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	c.admin()
	off := c.invited("off@example.com")
	if err := c.SetDisabled(ctx, off.ID, true); err != nil {
		t.Fatal(err)
	}
	if err := c.DB.People.CreateUser(ctx, beeos.User{ID: "k", Email: "nopassword@example.com"}); err != nil {
		t.Fatal(err)
	}
	first := ""
	for _, tt := range [][2]string{
		{"ann@example.com", "wrong"},
		{"ann@example.com", ""},
		{"ann@example.com", strings.Repeat("x", 1<<20)},
		{"nobody@example.com", password},
		{"off@example.com", password},
		{"nopassword@example.com", ""},
		{"", ""},
		{"bad\x00\xff", password},
	} {
		_, err := c.SignIn(ctx, tt[0], tt[1], "10.0.0.1")
		wantCode(t, err, beeos.LoginRejected)
		if first == "" {
			first = err.Error()
		}
		if err.Error() != first {
			t.Errorf("%q says %q", tt[0], err)
		}
	}
}

// TestRefusalsAreTold: whoever counts hears of everybody who was not let in, and
// of nobody else.
func TestRefusalsAreTold(t *testing.T) {
	c := newCrowd(t)
	ctx := t.Context()
	c.admin()
	got := map[string]int{}
	c.Refused = func(method string, why beeos.Code) { got[method+" "+string(why)]++ }
	c.SignIn(ctx, "ann@example.com", password, "10.0.0.1") //nolint:errcheck // they are counted
	for range 10 {
		c.SignIn(ctx, "ann@example.com", "wrong", "10.0.0.1") //nolint:errcheck // as above
	}
	c.SignInAs(ctx, Identity{Issuer: "https://id.example", Subject: "9", Email: "stranger@example.com", Verified: true}) //nolint:errcheck // as above
	c.FindLink(ctx, "guess")                                                                                             //nolint:errcheck // as above
	c.AcceptLink(ctx, "guess", "", "", password)                                                                         //nolint:errcheck // as above
	gone, cancel := context.WithCancel(ctx)
	cancel()
	c.SignIn(gone, "ann@example.com", password, "10.0.0.2") //nolint:errcheck // who leaves was not refused
	if diff := cmp.Diff(map[string]int{"password login_rejected": 5, "password rate_limited": 5, "provider forbidden": 1, "link not_found": 2}, got); diff != "" {
		t.Error(diff)
	}
}

// The answer about an account that is not there costs the same hashing: with
// all hashing places taken, it waits too.
func TestUnknownAccountTakesAsLong(t *testing.T) {
	c := newCrowd(t)
	for range cap(hashing) {
		hashing <- struct{}{}
	}
	defer func() {
		for range cap(hashing) {
			<-hashing
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.SignIn(ctx, "nobody@example.com", password, ""); err == nil || ctx.Err() == nil {
		t.Errorf("answered at once: %v", err)
	}
}

func TestThrottle(t *testing.T) {
	for _, email := range []string{"ann@example.com", "nobody@example.com"} {
		t.Run(email, func(t *testing.T) {
			c := newCrowd(t)
			ctx := t.Context()
			ann := c.admin()
			for i := range accountFree + 1 {
				_, err := []*People{c.People, c.replica}[i%2].SignIn(ctx, email, "wrong", fmt.Sprintf("10.0.0.%d", i))
				wantCode(t, err, beeos.LoginRejected)
			}
			wait := firstWait
			for range 8 {
				_, err := c.replica.SignIn(ctx, email, password, "10.1.0.1") // the right one waits too
				wantCode(t, err, beeos.RateLimited, "wait")
				if got := beeos.Public(err).RetryAfter; got != wait {
					t.Errorf("wait %s, want %s", got, wait)
				}
				c.clock = c.clock.Add(wait)
				_, err = c.SignIn(ctx, email, "wrong", "10.2.0.1")
				wantCode(t, err, beeos.LoginRejected)
				wait = min(accountMost, 2*wait)
			}
			if email != ann.Email {
				return
			}
			// Never for good: after the longest wait the owner gets in, and
			// everything is forgotten.
			c.clock = c.clock.Add(accountMost)
			if _, err := c.SignIn(ctx, email, password, "10.3.0.1"); err != nil {
				t.Fatal(err)
			}
			_, err := c.SignIn(ctx, email, "wrong", "10.3.0.1")
			wantCode(t, err, beeos.LoginRejected)
			if _, err := c.SignIn(ctx, email, password, "10.3.0.1"); err != nil {
				t.Error(err)
			}
			if got := strings.Count(c.actions(ann.ID), "user.sign_in_failed"); got != 5 { // 1, 2, 4, 8; and 1 again
				t.Errorf("%d failures in the trail: %s", got, c.actions(ann.ID))
			}
		})
	}
}

func TestThrottlePerAddress(t *testing.T) {
	for _, tt := range []struct{ first, other string }{
		{"10.0.0.1", "10.0.0.2"},
		{"2001:db8::1", "2001:db8:0:1::1"},
	} {
		c := newCrowd(t)
		ctx := t.Context()
		c.admin()
		for i := range addressFree + 1 {
			_, err := c.SignIn(ctx, fmt.Sprintf("u%d@example.com", i), "wrong", tt.first)
			wantCode(t, err, beeos.LoginRejected)
		}
		_, err := c.SignIn(ctx, "ann@example.com", password, tt.first)
		wantCode(t, err, beeos.RateLimited)
		if _, err := c.SignIn(ctx, "ann@example.com", password, tt.other); err != nil {
			t.Errorf("%s: %v", tt.other, err)
		}
	}
	if a, b := auth.Network("2001:db8::1"), auth.Network("2001:db8::ffff:1"); a != b || a == "" {
		t.Errorf("one network, %s and %s", a, b)
	}
	if a, b := auth.Network("::ffff:10.0.0.1"), auth.Network("10.0.0.1"); a != b {
		t.Errorf("one address, %s and %s", a, b)
	}
}
