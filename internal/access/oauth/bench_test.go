package oauth

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/test/pgtest"
)

// BenchmarkRefresh is the refresh grant as clients ask for it, each with a
// chain of its own, on databases that sync to disk. The figure to look at is
// grants/s.
func BenchmarkRefresh(b *testing.B) {
	for name, dsn := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "bench.db") },
		"postgres": func() string { return pgtest.URL(b) },
	} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", name, clients), func(b *testing.B) {
				r := newRigOn(b, dsn(), Options{})
				tokens := make(chan string, clients)
				for range clients {
					tokens <- r.chain()
				}
				b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					token := <-tokens
					for pb.Next() {
						status, answer := form(r.s, "/oauth/token", r.renewal(token))
						if status != http.StatusOK {
							b.Errorf("%d %v", status, answer)
							return
						}
						token = answer["refresh_token"].(string)
					}
					tokens <- token
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "grants/s")
			})
		}
	}
}

// chain makes a chain of refresh tokens without the way through a browser.
func (r *rig) chain() string {
	ctx := context.Background()
	code, err := r.s.grantAccess(ctx, grants.Flow{
		UserID: r.owner.ID, ClientID: r.client, ClientName: "App", RedirectURI: callback, Challenge: encode(auth.Hash(verifier)),
		Resource: r.endpoint("a"), Agents: []string{r.agents["a"]},
	})
	r.must(err)
	status, answer := form(r.s, "/oauth/token", r.exchange(code))
	if status != http.StatusOK {
		r.t.Fatalf("%d %v", status, answer)
	}
	return answer["refresh_token"].(string)
}

// BenchmarkCheck is what a token costs on every call: known, as most are, and
// when it is looked at anew.
func BenchmarkCheck(b *testing.B) {
	r := newRig(b)
	access, _ := r.tokens(r.query(), "a")
	resource := r.endpoint("a")
	check := func(b *testing.B) {
		if _, err := r.s.CheckAccess(context.Background(), access, resource); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(b)
		}
	})
	b.Run("anew", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.s.Forget(r.owner.ID)
			check(b)
		}
	})
}

// TestCheckIsCheap keeps a known token out of the database and within the
// budget of a call.
func TestCheckIsCheap(t *testing.T) {
	r := newRig(t)
	access, _ := r.tokens(r.query(), "a")
	resource := r.endpoint("a")
	if !r.good(access, resource) {
		t.Fatal("not good")
	}
	var failed atomic.Bool
	allocs := testing.AllocsPerRun(1000, func() {
		if _, err := r.s.CheckAccess(context.Background(), access, resource); err != nil {
			failed.Store(true)
		}
	})
	if failed.Load() || allocs > 2 {
		t.Errorf("%v allocations", allocs)
	}
	r.must(r.db.Close())
	if _, err := r.s.CheckAccess(context.Background(), access, resource); err != nil {
		t.Errorf("a known token needs the database: %v", err)
	}
	r.pass(liveFor)
	if _, err := r.s.CheckAccess(context.Background(), access, resource); beeos.CodeOf(err) != beeos.InternalError {
		t.Errorf("without a database: %v", err)
	}
}
