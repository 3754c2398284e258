//go:build silence

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/verify"
	"github.com/beeos/beeos/test/pgtest"
)

// TestPrimaryGoesSilent: the primary freezes in the middle of a load, and three
// seconds later its standby takes over. Fifteen seconds after that the servers are
// as fast as they were; all the while everybody is answered in time, and told what
// became of the call. Nothing that was acknowledged is lost.
func TestPrimaryGoesSilent(t *testing.T) {
	primary := pgtest.Cluster(t, pgtest.Fsync)
	address := primary.URL(t)
	standby := primary.Standby(t, true)
	primary.AwaitSync(t)
	p := newPair(t, primary.Both(address, standby), nil)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json", Again: beeos.RedeliverAlways})
	p.b.online(p.key, a.id, true)

	l := startLoad(t, p.b, a, p.key)
	watch := l.countBySecond()
	hasty := startHasty(t, p.b, a.id, p.key)
	pause(t.Context(), 12*time.Second)

	primary.Freeze(t)
	frozen := watch.mark()
	pause(t.Context(), 3*time.Second)
	standby.Promote(t)
	promoted := watch.mark()
	pause(t.Context(), 25*time.Second)
	hasty.finish(t)
	// The load reads what is stored, behind the servers' back.
	p.b.env = append(p.b.env, "DATABASE_URL="+standby.At(address, primary))
	l.finish()
	counts := watch.stop()
	l.check()
	report, err := verify.Run(t.Context(), p.b.open(), verify.Options{})
	if err != nil || !report.Clean() || !strings.Contains(report.Checks[0].Looked, "timeline 2") {
		t.Errorf("verify: %+v, %v", report, err)
	}

	before := median(counts[frozen-8 : frozen-1])
	t.Logf("calls a second: %v", counts)
	t.Logf("frozen at second %d, promoted at second %d; %d a second before", frozen, promoted, before)
	after := median(counts[promoted+15 : promoted+22])
	if after*10 < before*9 {
		t.Errorf("%d calls a second from 15 s after the promotion on, of %d before", after, before)
	}
	for _, n := range []*node{p.a, p.b} {
		n.proc.expect(n.proc.Err, "say that the database has gone silent", says("gone silent"))
		n.proc.expect(n.proc.Err, "say that it answers again", says(`"msg":"the database answers"`))
	}
}

func median(counts []int) int {
	sorted := slices.Sorted(slices.Values(counts))
	return sorted[len(sorted)/2]
}

// rate counts the calls of a load that have their result, by second.
type rate struct {
	mu     sync.Mutex
	counts []int
	quit   chan struct{}
	done   sync.WaitGroup
}

func (l *load) countBySecond() *rate {
	r := &rate{quit: make(chan struct{})}
	r.done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for last := 0; ; {
			select {
			case <-tick.C:
			case <-r.quit:
				return
			}
			l.mu.Lock()
			n := len(l.results) + len(l.messages)
			l.mu.Unlock()
			r.mu.Lock()
			r.counts = append(r.counts, n-last)
			r.mu.Unlock()
			last = n
		}
	})
	return r
}

// mark is the second that it is now.
func (r *rate) mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.counts)
}

func (r *rate) stop() []int {
	close(r.quit)
	r.done.Wait()
	return r.counts
}

// hasty are callers with little time, who note how long each answer takes.
type hasty struct {
	stop   context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	worst  map[string]time.Duration // by what was asked
	ends   map[string]int           // by what was asked, and how that ended
	errors []string
}

const (
	hastyTimeout = 3 * time.Second
	hastyGrace   = 2 * time.Second
)

func startHasty(t *testing.T, n *node, agentID, key string) *hasty {
	ctx, stop := context.WithCancel(t.Context())
	h := &hasty{stop: stop, worst: map[string]time.Duration{}, ends: map[string]int{}}
	c := newCaller(t, n, agentID, key, 8)
	for i := range 4 {
		h.done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := fmt.Appendf(nil, `{"message":"quick %d %d","timeout_ms":%d}`, i, n, hastyTimeout.Milliseconds())
				h.ask(t, c, "invoke", http.MethodPost, "/agents/"+agentID+"/invoke", body)
				pause(ctx, 100*time.Millisecond)
			}
		})
	}
	h.done.Go(func() {
		for ctx.Err() == nil {
			h.ask(t, c, "tasks", http.MethodGet, "/tasks", nil)
			pause(ctx, 100*time.Millisecond)
		}
	})
	return h
}

// ask makes one request and notes how long that took, and how it ended.
func (h *hasty) ask(t *testing.T, c *caller, what, method, path string, body []byte) {
	began := time.Now()
	resp, err := c.post(t.Context(), method, c.node.rest+"/api/v1"+path, body, nil)
	if err != nil {
		h.note(what, time.Since(began), "no answer", err.Error())
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.note(what, time.Since(began), "broken answer", err.Error())
		return
	}
	var answer struct {
		Error struct {
			Code    string
			Details struct{ Stored string }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		h.note(what, time.Since(began), "no JSON", string(text))
		return
	}
	end, trouble := fmt.Sprint(resp.StatusCode), ""
	if answer.Error.Code != "" {
		end += " " + answer.Error.Code + " stored:" + answer.Error.Details.Stored
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		trouble = string(text)
	}
	h.note(what, time.Since(began), end, trouble)
}

func (h *hasty) note(what string, took time.Duration, end, trouble string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.worst[what] = max(h.worst[what], took)
	h.ends[what+" "+end]++
	if trouble != "" {
		h.errors = append(h.errors, what+": "+trouble)
	}
}

// finish checks that everybody was answered in time.
func (h *hasty) finish(t *testing.T) {
	t.Helper()
	h.stop()
	h.done.Wait()
	t.Logf("slowest answers: %v; ends: %v", h.worst, h.ends)
	for what, took := range h.worst {
		if took > hastyTimeout+hastyGrace {
			t.Errorf("%s was answered after %s", what, took)
		}
	}
	for _, e := range h.errors[:min(5, len(h.errors))] {
		t.Error(e)
	}
}

func says(text string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, text) }
}
