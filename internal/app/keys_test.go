package app_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// door is a request that wants a key, on one of the surfaces.
type door struct{ method, url, body string }

func doors(t *testing.T, a *apptest.App) map[string]door {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]door{
		"rest":   {"GET", a.REST + "/api/v1/agents", ""},
		"mcp":    {"POST", a.MCPEndpoint(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		"agents": {"POST", a.Agents + "/api/v1/agents/join", `{"name":"x","public_key":"` + base64.StdEncoding.EncodeToString(public) + `"}`},
	}
}

// knock sends a request with a key, from an address if one is given.
func (d door) knock(ctx context.Context, key, from string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, d.method, d.url, strings.NewReader(d.body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if from != "" {
		req.Header.Set("X-Forwarded-For", from)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// TestBadKeysLookAlike: unknown, revoked and of a wrong kind get the same
// answer, in about the same time.
func TestBadKeysLookAlike(t *testing.T) {
	const each, alike = 60, 5 // tries, and how many times as long one may take
	a := apptest.Start(t, apptest.Config(t))
	cl := client.New(a.REST, a.UserKey)
	var revoked []string
	for range each * len(doors(t, a)) { // nothing is known yet of a key that comes for the first time
		k, err := cl.CreateKey(t.Context(), "", client.KeyRequest{Name: "gone"})
		if err == nil {
			err = cl.RevokeKey(t.Context(), "", k.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		revoked = append(revoked, k.Secret)
	}
	// Addresses are many, so that none is told to slow down.
	kinds := []struct {
		name string
		key  func(gone string) string
	}{
		{"unknown", func(string) string { return beeos.NewSecret(beeos.UserKeyPrefix) }},
		{"revoked", func(gone string) string { return gone }},
		{"of the other kind", func(gone string) string {
			return beeos.AgentKeyPrefix + strings.TrimPrefix(gone, beeos.UserKeyPrefix)
		}},
		{"of no kind", func(string) string { return beeos.NewSecret("xyz_") }},
	}
	for surface, d := range doors(t, a) {
		took := make([][]time.Duration, len(kinds))
		want := ""
		for range each {
			gone := revoked[0]
			revoked = revoked[1:]
			for j, kind := range kinds {
				began := time.Now()
				resp, body, err := d.knock(t.Context(), kind.key(gone), fmt.Sprintf("192.0.2.%d", len(revoked)%200))
				if err != nil {
					t.Fatal(err)
				}
				took[j] = append(took[j], time.Since(began))
				if want == "" {
					want = body
				}
				if resp.StatusCode != http.StatusUnauthorized || body != want {
					t.Fatalf("%s, a key that is %s: %s %s\nwant %s", surface, kind.name, resp.Status, body, want)
				}
			}
		}
		unknown := middle(took[0])
		for j, kind := range kinds[:3] { // that a key has a form is no secret: one without it is not looked for
			t.Logf("%s: %s: %s", surface, kind.name, middle(took[j]))
			if m := middle(took[j]); m > alike*unknown || unknown > alike*m {
				t.Errorf("%s: a key that is %s takes %s, one that is unknown %s", surface, kind.name, m, unknown)
			}
		}
	}
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// TestGuessingIsSlowedDown: an address that sends a thousand bad keys in a
// minute is told to slow down, on every surface, and nobody else is: neither
// who has a good key at the same address nor who has a bad one at another.
func TestGuessingIsSlowedDown(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	i := 0
	for surface, d := range doors(t, a) {
		i++
		from, neighbour := fmt.Sprintf("198.51.100.%d", i), fmt.Sprintf("203.0.113.%d", i)
		refused, limited := 0, 0
		for range 1000 {
			resp, body, err := d.knock(t.Context(), beeos.NewSecret(beeos.UserKeyPrefix), from)
			if err != nil {
				t.Fatal(err)
			}
			switch resp.StatusCode {
			case http.StatusUnauthorized:
				refused++
			case http.StatusTooManyRequests:
				limited++
				if resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "rate_limited") {
					t.Fatalf("%s: %v %s", surface, resp.Header, body)
				}
			default:
				t.Fatalf("%s: %s %s", surface, resp.Status, body)
			}
		}
		if refused > 500 || limited < 500 {
			t.Errorf("%s: %d refused, %d told to slow down", surface, refused, limited)
		}
		if resp, body, err := d.knock(t.Context(), a.UserKey, from); err != nil || resp.StatusCode >= 300 {
			t.Errorf("%s: a good key at that address: %v %s", surface, err, body)
		}
		if resp, body, err := d.knock(t.Context(), beeos.NewSecret(beeos.UserKeyPrefix), neighbour); err != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: a bad key at another address: %v %s", surface, err, body)
		}
	}
}

// TestFourthAgentKey: three of an agent's keys may be active.
func TestFourthAgentKey(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	cl := client.New(a.REST, a.UserKey)
	keys, err := cl.Keys(t.Context(), a.AgentID)
	if err != nil {
		t.Fatal(err)
	}
	var last *client.Key
	for range 3 - len(keys) {
		if last, err = cl.CreateKey(t.Context(), a.AgentID, client.KeyRequest{Name: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = cl.CreateKey(t.Context(), a.AgentID, client.KeyRequest{Name: "k"})
	if beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("the fourth: %v", err)
	}
	if err := cl.RevokeKey(t.Context(), a.AgentID, last.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CreateKey(t.Context(), a.AgentID, client.KeyRequest{Name: "k"}); err != nil {
		t.Errorf("in place of a revoked one: %v", err)
	}
}
