package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

// key makes an API key of the owner's and returns it with its secret.
func (r *rig) key(kind beeos.KeyKind, agent string, expires time.Time) (beeos.Key, string) {
	r.t.Helper()
	secret, hash, prefix := auth.NewKey(kind)
	k := beeos.Key{ID: beeos.NewID(), Kind: kind, OwnerID: r.owner.ID, AgentID: agent, Name: "machine", Prefix: prefix, CreatedAt: r.now(), ExpiresAt: expires}
	r.must(r.db.Keys.Create(context.Background(), k, hash))
	return k, secret
}

// askToken asks the token endpoint, with a client in the header if id is given.
func (r *rig) askToken(form url.Values, id, secret string) (int, string) {
	r.t.Helper()
	req := httptest.NewRequest("POST", issuer+"/oauth/token", strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if id != "" {
		req.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	}
	w := httptest.NewRecorder()
	r.s.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// TestMachinesGetTokensForTheirKey: client credentials, for a user's key and for
// an agent's, on both replicas, until the key is revoked or over.
func TestMachinesGetTokensForTheirKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *rig) {
		grant := url.Values{"grant_type": {"client_credentials"}}
		token := func(form url.Values, id, secret string) string {
			t.Helper()
			status, body := r.askToken(form, id, secret)
			access := field(t, body, "access_token")
			if status != http.StatusOK || access == "" || strings.Contains(body, "refresh_token") {
				t.Fatalf("%d %s", status, body)
			}
			return access
		}
		user, secret := r.key(beeos.UserKey, "", time.Time{})
		all := token(grant, user.ID, secret)
		c, err := r.other.CheckAccess(t.Context(), all, r.endpoint("a"))
		if err != nil || c.Kind != beeos.ByUserKey || c.UserID != r.owner.ID || c.CredentialID != user.ID {
			t.Errorf("%+v, %v", c, err)
		}
		one := token(url.Values{"grant_type": grant["grant_type"], "resource": {r.endpoint("a")}, "client_id": {user.Prefix}, "client_secret": {secret}}, "", "")
		if _, err := r.s.CheckAccess(t.Context(), one, r.endpoint("a")); err != nil {
			t.Error(err)
		}
		if _, err := r.s.CheckAccess(t.Context(), one, r.endpoint("b")); beeos.CodeOf(err) != beeos.InvalidToken {
			t.Errorf("at another resource: %v", err)
		}

		bound, boundSecret := r.key(beeos.AgentKey, r.agents["a"], time.Time{})
		own := token(grant, bound.ID, boundSecret)
		if c, err := r.s.CheckAccess(t.Context(), own, r.endpoint("a")); err != nil || c.Kind != beeos.ByAgentKey || c.AgentID != r.agents["a"] {
			t.Errorf("%+v, %v", c, err)
		}
		if _, err := r.s.CheckAccess(t.Context(), own, r.endpoint("b")); err == nil {
			t.Error("an agent's key reaches another agent")
		}

		r.must(r.db.Keys.Revoke(t.Context(), r.owner.ID, user.ID))
		r.s.Forget(user.ID)
		if _, err := r.s.CheckAccess(t.Context(), all, r.endpoint("a")); beeos.CodeOf(err) != beeos.InvalidToken {
			t.Errorf("after the key was revoked: %v", err)
		}
		r.pass(liveFor)
		if _, err := r.other.CheckAccess(t.Context(), all, r.endpoint("a")); beeos.CodeOf(err) != beeos.InvalidToken {
			t.Errorf("on a replica that heard nothing: %v", err)
		}

		brief, briefSecret := r.key(beeos.UserKey, "", r.now().Add(time.Minute))
		soon := token(grant, brief.ID, briefSecret)
		r.pass(time.Minute)
		if _, err := r.s.CheckAccess(t.Context(), soon, r.endpoint("a")); err == nil {
			t.Error("a token outlives its key")
		}
	})
}

func TestMachinesAreRefused(t *testing.T) {
	r := newRig(t)
	user, secret := r.key(beeos.UserKey, "", time.Time{})
	bound, boundSecret := r.key(beeos.AgentKey, r.agents["a"], time.Time{})
	revoked, revokedSecret := r.key(beeos.UserKey, "", time.Time{})
	r.must(r.db.Keys.Revoke(t.Context(), r.owner.ID, revoked.ID))
	for name, tt := range map[string]struct {
		id, secret string
		more       url.Values
		want       string
		status     int // 0 = 400
	}{
		"no client":            {want: "invalid_client"},
		"no secret":            {more: url.Values{"client_id": {user.ID}}, want: "invalid_client"},
		"another key's id":     {id: bound.ID, secret: secret, want: "invalid_client", status: 401},
		"an unknown secret":    {id: user.ID, secret: "oag_" + strings.Repeat("0", 64), want: "invalid_client", status: 401},
		"a revoked key":        {id: revoked.ID, secret: revokedSecret, want: "invalid_client", status: 401},
		"twice":                {id: user.ID, secret: secret, more: url.Values{"client_secret": {secret}}, want: "invalid_request"},
		"a foreign resource":   {id: user.ID, secret: secret, more: url.Values{"resource": {"https://elsewhere.example/mcp"}}, want: "invalid_target"},
		"not the key's agent":  {id: bound.ID, secret: boundSecret, more: url.Values{"resource": {r.endpoint("b")}}, want: "invalid_target"},
		"all, with an agent's": {id: bound.ID, secret: boundSecret, more: url.Values{"resource": {issuer + "/mcp"}}, want: "invalid_target"},
	} {
		t.Run(name, func(t *testing.T) {
			form := url.Values{"grant_type": {"client_credentials"}}
			for k, v := range tt.more {
				form[k] = v
			}
			status, body := r.askToken(form, tt.id, tt.secret)
			if got := field(t, body, "error"); got != tt.want || status != cmp.Or(tt.status, http.StatusBadRequest) || strings.Contains(body, "oag_") {
				t.Errorf("%d %s, want %s", status, body, tt.want)
			}
		})
	}
}

func field(t *testing.T, body, name string) string {
	t.Helper()
	var answer map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	text, _ := answer[name].(string)
	return text
}
