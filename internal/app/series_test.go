package app_test

import (
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
)

// TestChartsOutliveTheServer: a server that is stopped has written all that it counted,
// and the next one goes on from there.
func TestChartsOutliveTheServer(t *testing.T) {
	for name, url := range map[string]func() string{"sqlite": func() string { return "" }, "postgres": func() string { return pgtest.URL(t) }} {
		t.Run(name, func(t *testing.T) {
			cfg := apptest.Config(t)
			cfg.DatabaseURL = url()
			since, agent := time.Now().UTC().Truncate(time.Hour), ""
			for range 2 {
				a := apptest.Start(t, cfg)
				for range 3 {
					if _, err := client.New(a.REST, a.UserKey).Invoke(t.Context(), a.AgentID, client.InvokeRequest{Message: "hello"}); err != nil {
						t.Fatal(err)
					}
				}
				agent = a.AgentID
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			dsn, err := app.DSN(cfg)
			if err != nil {
				t.Fatal(err)
			}
			db, err := store.Open(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, step := range []time.Duration{calls.Fine * time.Minute, time.Hour} {
				sums, err := db.Calls.SumSeries(t.Context(), calls.SeriesFilter{AgentIDs: []string{agent}, Since: since, Step: step, Points: int(2 * time.Hour / step)})
				if err != nil {
					t.Fatal(err)
				}
				n := int64(0)
				for i := range sums {
					n += sums[i].Calls
				}
				if n != 6 {
					t.Errorf("in steps of %v, %d of 6 calls are counted", step, n)
				}
			}
		})
	}
}
