package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/pgtest"
)

// TestQuotaHoldsAcrossReplicas: everybody calls at once, half of them at
// each of two servers, and the quota is that of one.
func TestQuotaHoldsAcrossReplicas(t *testing.T) {
	const quota, calls = 60, 200
	p := newPair(t, pgtest.URL(t), nil, "BEEOS_RATE_LIMIT="+strconv.Itoa(quota))
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)

	began := time.Now()
	admitted, longest := p.burst(t, a.id, p.key, calls)
	took := time.Since(began)
	refilled := int(took.Seconds() * quota / 60)
	t.Logf("%d of %d calls were admitted within %s, the others told to try again in at most %s", admitted, calls, took.Round(time.Millisecond), longest)
	if admitted < quota-3 || admitted > quota+3+refilled {
		t.Errorf("%d calls were admitted, want %d ± 5 %% and %d that came in meanwhile", admitted, quota, refilled)
	}
	if longest <= 0 || longest > time.Second {
		t.Errorf("callers are told to try again in %s, want at most a second", longest)
	}
	pause(t.Context(), longest)
	if err := mayCall(p.b, a.id, p.key); err != nil {
		t.Errorf("a retry after the time that was told: %v", err)
	}

	t.Run("one is killed", func(t *testing.T) { p.survivor(t, a.id) })
}

// survivor: with its neighbour dead, a node has the whole quota for itself.
func (p pair) survivor(t *testing.T, agentID string) {
	const quota = 600
	k, err := client.New(p.a.rest, p.key).CreateKey(t.Context(), "", client.KeyRequest{Name: "busy", RatePerMinute: quota})
	if err != nil {
		t.Fatal(err)
	}
	first := time.Now()
	for range 50 {
		if err := mayCall(p.b, agentID, k.Secret); err != nil {
			t.Fatal(err)
		}
	}
	p.b.proc.Kill()
	lone := pair{a: p.a, b: p.a}
	began := time.Now()
	admitted, _ := lone.burst(t, agentID, k.Secret, quota+100)
	refilled := func(d time.Duration) int { return int(d.Seconds() * quota / 60) }
	meanwhile := refilled(time.Since(began))
	least := min(quota-50+meanwhile, quota+100)
	most := min(quota-50+refilled(began.Sub(first)), quota) + meanwhile // on a busy machine the first 50 take their time
	t.Logf("%d calls were admitted within %s of the other's death, %d to %d are right", admitted, time.Since(began).Round(time.Millisecond), least, most)
	if admitted < least-quota/20 || admitted > most+quota/20 {
		t.Errorf("the survivor admitted %d calls, want %d to %d ± 5 %%", admitted, least, most)
	}
}

// burst makes calls side by side at both nodes. It returns how many were
// admitted, and the longest wait that the others were told.
func (p pair) burst(t *testing.T, agentID, key string, calls int) (admitted int, longest time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	callers := []*caller{newCaller(t, p.a, agentID, key, 50), newCaller(t, p.b, agentID, key, 50)}
	for i := range calls {
		wg.Go(func() {
			err := callers[i%2].metered()
			mu.Lock()
			defer mu.Unlock()
			var over *overQuota
			switch {
			case err == nil:
				admitted++
			case errors.As(err, &over):
				longest = max(longest, over.retry)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return admitted, longest
}

func mayCall(n *node, agentID, key string) error {
	return newCaller(n.t, n, agentID, key, 1).metered()
}

// overQuota is a refusal that says when to come back.
type overQuota struct{ retry time.Duration }

func (e *overQuota) Error() string { return "over the quota for " + e.retry.String() }

// metered makes a call as curl does. A refusal must say twice when to try
// again, for programs that read bodies and for those that read headers.
func (c *caller) metered() error {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"message":"hi"}}}`, c.agent)
	resp, err := c.post(c.node.t.Context(), http.MethodPost, c.node.mcp+"/"+c.agent+"/mcp", body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code int
			Data struct {
				RetryAfterMS int64 `json:"retry_after_ms"`
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	if answer.Result != nil {
		return nil
	}
	if answer.Error == nil || answer.Error.Code != http.StatusTooManyRequests {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	retry := time.Duration(answer.Error.Data.RetryAfterMS) * time.Millisecond
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if told := time.Duration(seconds) * time.Second; err != nil || told < retry || told >= retry+time.Second {
		return fmt.Errorf("Retry-After is %q where the body says %s", resp.Header.Get("Retry-After"), retry)
	}
	return &overQuota{retry}
}
