package oauth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

// wantError sends a form and wants a refusal with that word.
func (r *rig) wantError(t *testing.T, what string, values url.Values, word string) {
	t.Helper()
	status, answer := form(r.s, "/oauth/token", values)
	if status != http.StatusBadRequest || answer["error"] != word {
		t.Errorf("%s: %d %v, want %s", what, status, answer, word)
	}
}

func (r *rig) one() Choice { return Choice{Agents: []string{r.agents["a"]}} }

func TestCodesAreGoodOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *rig) {
		code := r.code(r.query(), r.one())
		status, answer, h := post(r.other, "/oauth/token", "application/x-www-form-urlencoded", "", r.exchange(code, "resource", r.endpoint("a")).Encode())
		if status != http.StatusOK || answer["token_type"] != "Bearer" || answer["expires_in"] != float64(3600) || answer["scope"] != "agent:"+r.agents["a"] || !strings.Contains(h.Get("Cache-Control"), "no-store") {
			t.Fatalf("%d %v %v", status, answer, h)
		}
		access, refresh := answer["access_token"].(string), answer["refresh_token"].(string)
		if !r.good(access, r.endpoint("a")) {
			t.Fatal("the token is not good")
		}
		r.wantError(t, "replay", r.exchange(code), "invalid_grant")
		if r.good(access, r.endpoint("a")) {
			t.Error("the token outlives the replay of its code")
		}
		r.wantError(t, "refresh after a replay", r.renewal(refresh), "invalid_grant")

		code = r.code(r.query(), r.one())
		r.pass(codeFor + time.Second)
		r.wantError(t, "late", r.exchange(code), "invalid_grant")

		for what, pairs := range map[string][]string{
			"another client":   {"client_id", r.register(callback)},
			"another redirect": {"redirect_uri", "http://127.0.0.1:61000/cb"},
			"a wrong verifier": {"code_verifier", verifier + "x"},
			"a short verifier": {"code_verifier", "x"},
		} {
			code := r.code(r.query(), r.one())
			r.wantError(t, what, r.exchange(code, pairs...), "invalid_grant")
			r.wantError(t, what+", then right", r.exchange(code), "invalid_grant")
		}
		r.wantError(t, "another resource", r.exchange(r.code(r.query(), r.one()), "resource", r.endpoint("b")), "invalid_target")
		r.wantError(t, "a foreign resource", r.exchange(r.code(r.query(), r.one()), "resource", "https://evil.example/"), "invalid_target")
		r.wantError(t, "unknown", r.exchange("mcp_code_x"), "invalid_grant")
		r.wantError(t, "nothing", r.exchange(""), "invalid_request")
	})
}

// TestParallelRedemptions: a thousand codes, each brought twice at once to
// two replicas. One of the two gets tokens.
func TestParallelRedemptions(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *rig) {
		const rounds = 1000
		ctx := context.Background()
		tx, _ := r.begin(r.query())
		_, err := r.s.Allow(ctx, tx, r.owner.ID, r.one())
		r.must(err)
		open, err := r.db.Grants.GetFlow(ctx, tx, r.now())
		r.must(err)
		for round := range rounds {
			code, err := r.s.grantAccess(ctx, open)
			r.must(err)
			var statuses [2]int
			var group errgroup.Group
			for i, s := range []*Server{r.s, r.other} {
				group.Go(func() error {
					status, answer := form(s, "/oauth/token", r.exchange(code))
					statuses[i] = status
					if status >= 500 {
						return fmt.Errorf("round %d: %d %v", round, status, answer)
					}
					return nil
				})
			}
			r.must(group.Wait())
			if statuses[0]+statuses[1] != http.StatusOK+http.StatusBadRequest {
				t.Fatalf("round %d: %v", round, statuses)
			}
		}
	})
}

func TestRefreshTokensRotate(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *rig) {
		_, first := r.tokens(r.query(), "a", "b")
		renew := func(token string) (access, refresh string) {
			t.Helper()
			status, answer := form(r.other, "/oauth/token", r.renewal(token))
			if status != http.StatusOK {
				t.Fatalf("refresh: %d %v", status, answer)
			}
			return answer["access_token"].(string), answer["refresh_token"].(string)
		}
		access, second := renew(first)
		if !r.good(access, r.endpoint("a")) || r.good(access, r.endpoint("b")) {
			t.Error("the new token is not good for its agent alone")
		}
		for range 3 {
			r.pass(3 * time.Second)
			if _, again := renew(first); again != second {
				t.Error("a lost answer is not given again")
			}
		}
		for what, pairs := range map[string][]string{
			"another resource": {"resource", r.endpoint("b")}, "a wider resource": {"resource", issuer}, "a foreign resource": {"resource", "https://evil.example"},
		} {
			r.wantError(t, what, r.renewal(second, pairs...), "invalid_target")
		}
		r.wantError(t, "another client", r.renewal(second, "client_id", r.register(callback)), "invalid_grant")
		r.wantError(t, "no client", r.renewal(second, "client_id", ""), "invalid_request")
		r.wantError(t, "more scope", r.renewal(second, "scope", "agents"), "invalid_scope")
		_, third := renew(second)
		access, _ = renew(third)

		// The second one comes back: the chain is at the fourth.
		r.wantError(t, "reuse", r.renewal(second), "invalid_grant")
		r.wantError(t, "after a reuse", r.renewal(third), "invalid_grant")
		if r.good(access, r.endpoint("a")) {
			t.Error("an access token outlives the reuse of a refresh token")
		}
	})
}

func TestReuseAfterTheGrace(t *testing.T) {
	r := newRig(t)
	access, first := r.tokens(r.query(), "a")
	if status, _ := form(r.s, "/oauth/token", r.renewal(first)); status != http.StatusOK {
		t.Fatal(status)
	}
	r.pass(refreshGrace + time.Second)
	r.wantError(t, "late", r.renewal(first), "invalid_grant")
	if r.good(access, r.endpoint("a")) {
		t.Error("the chain lives on")
	}
}

// TestMadeUpSecretsEndNothing: whoever knows the id of a chain, which is in
// every access token, cannot end it.
func TestMadeUpSecretsEndNothing(t *testing.T) {
	r := newRig(t)
	access, refresh := r.tokens(r.query(), "a")
	family, _ := splitRefresh(refresh)
	madeUp := encode(auth.Hash("made up"))
	for _, token := range []string{refreshPrefix + family + "." + madeUp, refreshPrefix, "x", refresh[:len(refresh)-1], refreshPrefix + "zero\x00" + family[5:] + "." + madeUp} {
		r.wantError(t, token, r.renewal(token), "invalid_grant")
		form(r.s, "/oauth/revoke", url.Values{"token": {token}})
	}
	if !r.good(access, r.endpoint("a")) {
		t.Error("a made-up token ended the chain")
	}
}

func TestRefreshAfterAnAgentWasTaken(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	access, refresh := r.tokens(r.query(), "a", "b")
	grants, err := r.s.ListGrants(ctx, r.owner.ID)
	r.must(err)
	_, err = r.other.NarrowGrant(ctx, r.owner.ID, grants[0].ID, []string{r.agents["b"]})
	r.must(err)
	caller, err := r.s.CheckAccess(ctx, access, r.endpoint("a"))
	if err != nil || len(caller.AgentIDs) != 1 || caller.AgentIDs[0] != r.agents["b"] {
		t.Errorf("%+v, %v", caller, err)
	}
	r.wantError(t, "its agent was taken", r.renewal(refresh), "invalid_target")
	if _, err := r.s.NarrowGrant(ctx, r.owner.ID, grants[0].ID, []string{r.agents["a"]}); beeos.CodeOf(err) != beeos.InvalidParam {
		t.Errorf("narrowing to what is not granted: %v", err)
	}
}

// TestParallelRefreshes: many threads of one client ask at once, on two
// replicas; all get the same successor.
func TestParallelRefreshes(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *rig) {
		_, refresh := r.tokens(r.query(), "a")
		for range 10 {
			answers := make([]string, 16)
			var group errgroup.Group
			for i := range answers {
				group.Go(func() error {
					s := []*Server{r.s, r.other}[i%2]
					status, answer := form(s, "/oauth/token", r.renewal(refresh))
					if status != http.StatusOK {
						return fmt.Errorf("%d %v", status, answer)
					}
					answers[i] = answer["refresh_token"].(string)
					return nil
				})
			}
			r.must(group.Wait())
			for _, a := range answers {
				if a != answers[0] || a == refresh {
					t.Fatal("different successors")
				}
			}
			refresh = answers[0]
			r.pass(time.Minute)
		}
	})
}

func TestGrantsEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		q := r.query("resource", "")
		status, answer := form(r.s, "/oauth/token", r.exchange(r.code(q, Choice{Agents: []string{r.agents["a"]}, For: 10 * time.Minute})))
		if status != http.StatusOK || answer["expires_in"] != float64(600) {
			t.Fatalf("%d %v", status, answer)
		}
		access := answer["access_token"].(string)
		r.pass(9 * time.Minute)
		if !r.good(access, issuer+"/mcp") {
			t.Error("over too early")
		}
		r.pass(2 * time.Minute)
		if r.good(access, issuer+"/mcp") {
			t.Error("the token outlives the grant")
		}
		r.wantError(t, "a grant that is over", r.renewal(answer["refresh_token"].(string)), "invalid_grant")

		access, refresh := r.tokens(q, "a")
		if !r.good(access, r.endpoint("a")) {
			t.Error("not good")
		}
		grants, err := r.s.ListGrants(ctx, r.owner.ID)
		r.must(err)
		_, err = r.db.Grants.RevokeGrant(ctx, r.owner.ID, grants[0].ID, r.now())
		r.must(err)
		r.s.Forget(grants[0].ID) // the news of it
		r.other.Forget(grants[0].ID)
		if r.good(access, r.endpoint("a")) {
			t.Error("the token outlives the grant's revocation")
		}
		r.wantError(t, "a revoked grant", r.renewal(refresh), "invalid_grant")
	})
}

// TestRevocationWithoutNews: a replica that heard nothing notices in 5 s.
func TestRevocationWithoutNews(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	access, _ := r.tokens(r.query(), "a")
	grants, err := r.s.ListGrants(ctx, r.owner.ID)
	r.must(err)
	if !r.good(access, r.endpoint("a")) {
		t.Fatal("not good")
	}
	_, err = r.db.Grants.RevokeGrant(ctx, r.owner.ID, grants[0].ID, r.now())
	r.must(err)
	r.pass(liveFor)
	if r.good(access, r.endpoint("a")) {
		t.Error("still good after 5 s")
	}
}

func TestRevokeEndpoint(t *testing.T) {
	r := newRig(t)
	for _, which := range []int{0, 1} {
		access, refresh := r.tokens(r.query(), "a")
		token := []string{access, refresh}[which]
		if status, _ := form(r.s, "/oauth/revoke", url.Values{"token": {token}, "client_id": {"another"}}); status != http.StatusOK || !r.good(access, r.endpoint("a")) {
			t.Error("another client revoked it, or was told")
		}
		if status, _ := form(r.s, "/oauth/revoke", url.Values{"token": {token}, "client_id": {r.client}, "token_type_hint": {"nonsense"}}); status != http.StatusOK || r.good(access, r.endpoint("a")) {
			t.Errorf("not revoked: %d", status)
		}
		r.wantError(t, "after revocation", r.renewal(refresh), "invalid_grant")
	}
	if status, _ := form(r.s, "/oauth/revoke", url.Values{"token": {"whatever"}}); status != http.StatusOK {
		t.Error(status)
	}
	if status, _ := form(r.s, "/oauth/revoke", nil); status != http.StatusBadRequest {
		t.Error(status)
	}
}

func TestQueryAndT32JSONAreNotRead(t *testing.T) {
	r := newRig(t)
	code := r.code(r.query(), r.one())
	if status, answer, _ := post(r.s, "/oauth/token?"+r.exchange(code).Encode(), "application/x-www-form-urlencoded", "", ""); status != http.StatusBadRequest || answer["error"] != "invalid_request" {
		t.Errorf("in the query: %d %v", status, answer)
	}
	body := `{"grant_type":"authorization_code","code":"` + code + `","code_verifier":"` + verifier + `","client_id":"` + r.client + `","redirect_uri":"` + callback + `"}`
	for _, kind := range []string{"application/json", "text/plain", "", "multipart/form-data; boundary=x"} {
		if status, answer, _ := post(r.s, "/oauth/token", kind, "", body); status != http.StatusBadRequest || answer["error"] != "invalid_request" {
			t.Errorf("%q: %d %v", kind, status, answer)
		}
	}
	twice := r.exchange(code)
	twice.Add("code", code)
	r.wantError(t, "twice", twice, "invalid_request")
	r.wantError(t, "another grant type", r.exchange(code, "grant_type", "password"), "unsupported_grant_type")
	r.wantError(t, "no grant type", r.exchange(code, "grant_type", ""), "invalid_request")
	if status, answer, _ := post(r.s, "/oauth/token", "application/json, application/x-www-form-urlencoded", "", r.exchange(code).Encode()); status != http.StatusOK {
		t.Errorf("called both, or the code was used up by mistakes: %d %v", status, answer)
	}
	if status, _, _ := post(r.s, "/oauth/token", "application/x-www-form-urlencoded", "", strings.Repeat("a", bodyMost+1)); status != http.StatusRequestEntityTooLarge {
		t.Error(status)
	}
}
