package app_test

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
)

// TestNewLimitOfKeyHoldsFromNextCall: a server that knows a key from an earlier
// call looks at it anew when its limit has changed.
func TestNewLimitOfKeyHoldsFromNextCall(t *testing.T) {
	for engine, change := range map[string]func(*config.Config){
		"sqlite":   func(*config.Config) {},
		"postgres": func(c *config.Config) { c.DatabaseURL = pgtest.URL(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			cfg := apptest.Config(t)
			change(&cfg)
			a := apptest.Start(t, cfg)
			owner := client.New(a.REST, a.UserKey)
			k, err := owner.CreateKey(t.Context(), "", client.KeyRequest{Name: "ci", RatePerMinute: 1})
			if err != nil {
				t.Fatal(err)
			}
			user := client.New(a.REST, k.Secret)
			// until calls until there is no quota left, which must be this one. What is
			// left of the old one differs: a database that nodes share fills it up slowly.
			until := func(quota string) {
				t.Helper()
				for range 4 {
					_, err := user.Invoke(t.Context(), a.AgentID, client.InvokeRequest{Message: "hi"})
					if err == nil {
						continue
					}
					if beeos.CodeOf(err) != beeos.RateLimited || !strings.Contains(err.Error(), "quota of "+quota+" calls a minute") {
						t.Errorf("%v, want the quota of %s", err, quota)
					}
					return
				}
				t.Errorf("four calls on a quota of %s", quota)
			}
			until("1")
			got, err := owner.LimitKey(t.Context(), "", k.ID, 2)
			if err != nil || got.RatePerMinute != 2 || got.Secret != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			until("2")
		})
	}
}
