package oauth

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beeos/beeos"
)

// forge signs claims as told.
func (r *rig) forge(method jwt.SigningMethod, header map[string]any, c any, key any) string {
	r.t.Helper()
	text, err := json.Marshal(c)
	r.must(err)
	var m jwt.MapClaims
	r.must(json.Unmarshal(text, &m))
	t := jwt.NewWithClaims(method, m)
	for name, v := range header {
		t.Header[name] = v
	}
	token, err := t.SignedString(key)
	r.must(err)
	return token
}

func TestForgedTokens(t *testing.T) {
	r := newRig(t)
	access, _ := r.tokens(r.query(), "a")
	keys, err := r.db.Grants.ListSigningKeys(t.Context(), r.now())
	r.must(err)
	key, c := keys[0], jwt.MapClaims{}
	_, _, err = jwt.NewParser().ParseUnverified(access, c)
	r.must(err)
	header := map[string]any{"typ": typeAccess, "kid": key.ID}
	with := func(name string, v any) map[string]any {
		text, err := json.Marshal(c)
		r.must(err)
		m := map[string]any{}
		r.must(json.Unmarshal(text, &m))
		if m[name] = v; v == nil {
			delete(m, name)
		}
		return m
	}
	sign := func(c any) string { return r.forge(jwt.SigningMethodHS256, header, c, key.Secret) }
	if !r.good(sign(c), r.endpoint("a")) {
		t.Fatal("the forge does not work")
	}
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	r.must(err)
	parts := strings.Split(access, ".")
	none := r.forge(jwt.SigningMethodNone, header, c, jwt.UnsafeAllowNoneSignatureType)
	head := func(alg string) string {
		text, err := json.Marshal(map[string]string{"alg": alg, "typ": typeAccess, "kid": key.ID})
		r.must(err)
		return encode(text) + "." + parts[1] + "."
	}
	for name, token := range map[string]string{
		"none": none, "None": head("None"), "nOnE": head("nOnE"), "none with our signature": head("none") + parts[2], "no algorithm": head("") + parts[2],
		"RS256":                 r.forge(jwt.SigningMethodRS256, header, c, pair),
		"HS512 with our key":    r.forge(jwt.SigningMethodHS512, header, c, key.Secret),
		"another key":           r.forge(jwt.SigningMethodHS256, header, c, []byte("x")),
		"an empty key":          r.forge(jwt.SigningMethodHS256, header, c, []byte{}),
		"wrong type":            r.forge(jwt.SigningMethodHS256, map[string]any{"typ": "JWT", "kid": key.ID}, c, key.Secret),
		"a person's type":       r.forge(jwt.SigningMethodHS256, map[string]any{"typ": typeUser, "kid": key.ID}, c, key.Secret),
		"no kid":                r.forge(jwt.SigningMethodHS256, map[string]any{"typ": typeAccess}, c, key.Secret),
		"kid as a path":         r.forge(jwt.SigningMethodHS256, map[string]any{"typ": typeAccess, "kid": "../../../../dev/null"}, c, []byte{}),
		"kid of SQL":            r.forge(jwt.SigningMethodHS256, map[string]any{"typ": typeAccess, "kid": "' OR 1=1 --"}, c, []byte{}),
		"kid as a number":       r.forge(jwt.SigningMethodHS256, map[string]any{"typ": typeAccess, "kid": 1}, c, key.Secret),
		"truncated":             access[:len(access)-1],
		"signature cut":         parts[0] + "." + parts[1] + ".",
		"tampered":              parts[0] + "." + parts[1][:len(parts[1])-2] + "AA." + parts[2],
		"two parts":             parts[0] + "." + parts[1],
		"four parts":            access + ".",
		"padded":                access + "=",
		"spaces":                access + " ",
		"expired":               sign(with("exp", r.now().Unix())),
		"no expiry":             sign(with("exp", nil)),
		"expiry as text":        sign(with("exp", "9999999999")),
		"not before the future": sign(with("nbf", r.now().Add(time.Minute).Unix())),
		"audience as a list":    sign(with("aud", []string{r.endpoint("a")})),
		"no audience":           sign(with("aud", nil)),
		"another issuer":        sign(with("iss", "https://evil.example")),
		"issuer with a slash":   sign(with("iss", issuer+"/")),
		"no family":             sign(with("fam", nil)),
		"another family":        sign(with("fam", beeos.NewID())),
		"another person":        sign(with("sub", r.person.ID)),
		"dots":                  strings.Repeat(".", 100_000),
		"long":                  strings.Repeat("A", 1<<20) + ".A.A",
		"nothing":               "", "a key": beeos.NewSecret(beeos.UserKeyPrefix),
	} {
		fastest := time.Hour // of a few: the machine may be busy
		for range 5 {
			begin := time.Now()
			if r.good(token, r.endpoint("a")) {
				t.Errorf("%s is accepted", name)
			}
			fastest = min(fastest, time.Since(begin))
		}
		if strings.Contains("dots long", name) && fastest > 20*time.Millisecond {
			t.Errorf("%s took %v", name, fastest)
		}
	}
	if _, err := r.s.CheckAccess(context.Background(), access, r.endpoint("a")); err != nil {
		t.Errorf("the real one: %v", err)
	}
}

func TestTokenOfAnotherAgent(t *testing.T) {
	r := newRig(t)
	access, _ := r.tokens(r.query(), "a", "b")
	for resource, fine := range map[string]bool{r.endpoint("a"): true, r.endpoint("b"): false, issuer + "/mcp": false, issuer: false} {
		if r.good(access, resource) != fine {
			t.Errorf("%s: %v", resource, !fine)
		}
	}
	_, err := r.s.CheckAccess(context.Background(), access, r.endpoint("b"))
	if got, want := r.s.Challenge(httptest.NewRequest("GET", "/", nil), r.agents["b"], err), `Bearer realm="MCP", resource_metadata="`+issuer+`/.well-known/oauth-protected-resource/`+r.agents["b"]+`/mcp", error="invalid_token", scope="agent:`+r.agents["b"]+`"`; got != want {
		t.Errorf("challenge %s", got)
	}
	root, _ := r.tokens(r.query("resource", ""), "a")
	for resource, fine := range map[string]bool{r.endpoint("a"): true, r.endpoint("b"): true, issuer + "/mcp": true} {
		if r.good(root, resource) != fine {
			t.Errorf("the whole gateway's at %s: %v", resource, !fine)
		}
	}
	if c, err := r.s.CheckAccess(context.Background(), root, r.endpoint("b")); err != nil || c.MayReach(&beeos.Agent{ID: r.agents["b"], OwnerID: r.owner.ID}) || !c.MayReach(&beeos.Agent{ID: r.agents["a"], OwnerID: r.owner.ID}) {
		t.Errorf("it reaches what was not granted: %+v, %v", c, err)
	}
	all, _ := r.tokens(r.query("resource", issuer+"/mcp"))
	c, err := r.s.CheckAccess(context.Background(), all, issuer+"/mcp")
	if err != nil || !c.MayReach(&beeos.Agent{ID: "later", OwnerID: r.owner.ID}) || c.MayReach(&beeos.Agent{ID: "x", OwnerID: r.person.ID, Visibility: beeos.VisiblePublic}) {
		t.Errorf("all agents: %+v, %v", c, err)
	}
}

func TestTokensStayOnTheirSurface(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	access, refresh := r.tokens(r.query("resource", ""), "a")
	if _, err := r.s.CheckUser(ctx, access); beeos.CodeOf(err) != beeos.InvalidToken {
		t.Errorf("an MCP token at REST: %v", err)
	}
	own, err := r.s.IssueUserTokens(ctx, r.owner)
	r.must(err)
	if r.good(own.Access, r.endpoint("a")) || r.good(own.Access, issuer+"/mcp") {
		t.Error("a person's token at MCP")
	}
	for range 2 { // also when the cache knows it
		c, err := r.other.CheckUser(ctx, own.Access)
		if err != nil || c.Kind != beeos.BySession || c.UserID != r.owner.ID {
			t.Errorf("%+v, %v", c, err)
		}
		if r.good(own.Access, issuer+"/mcp") {
			t.Error("a person's token at MCP")
		}
	}
	if _, err := r.s.RefreshUserTokens(ctx, refresh); beeos.CodeOf(err) != beeos.InvalidToken {
		t.Errorf("a client's refresh token at REST: %v", err)
	}
	r.wantError(t, "a person's refresh token at MCP", r.renewal(own.Refresh, "client_id", ""), "invalid_request")
	r.wantError(t, "a person's refresh token at MCP", r.renewal(own.Refresh), "invalid_grant")
	next, err := r.other.RefreshUserTokens(ctx, own.Refresh)
	r.must(err)
	if again, err := r.s.RefreshUserTokens(ctx, own.Refresh); err != nil || again.Refresh != next.Refresh {
		t.Errorf("a lost answer: %v", err)
	}
	r.must(r.s.EndUserTokens(ctx, r.owner.ID))
	for _, token := range []string{own.Access, next.Access} {
		if _, err := r.other.CheckUser(ctx, token); beeos.CodeOf(err) != beeos.InvalidToken {
			t.Errorf("after signing out everywhere: %v", err)
		}
	}
	if !r.good(access, r.endpoint("a")) {
		t.Error("signing out took an app's grant")
	}
}

func FuzzToken(f *testing.F) {
	r := newRig(f)
	access, _ := r.tokens(r.query(), "a")
	f.Add(access)
	f.Add("eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.e30.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		c, err := r.s.CheckAccess(context.Background(), token, r.endpoint("a"))
		if err == nil && token != access {
			t.Errorf("%q is accepted as %+v", token, c)
		}
	})
}

// TestNoSecretsInTheStore: none of what clients hold stands in the database.
func TestNoSecretsInTheStore(t *testing.T) {
	r := newRig(t)
	code := r.code(r.query(), r.one())
	_, answer := form(r.s, "/oauth/token", r.exchange(code))
	access, refresh := answer["access_token"].(string), answer["refresh_token"].(string)
	_, secret := splitRefresh(refresh)
	tables := []string{"oauth_tx", "oauth_codes", "oauth_families", "oauth_grants", "oauth_clients", "audit"}
	for _, table := range tables {
		dump := r.dump(table)
		for _, s := range []string{code, access, refresh, secret} {
			if strings.Contains(dump, s) {
				t.Errorf("%s holds %s", table, s)
			}
		}
	}
	if !strings.Contains(r.dump("oauth_clients"), r.client) {
		t.Error("the dump shows nothing")
	}
}

func (r *rig) dump(table string) string {
	rows, err := r.db.Query("SELECT * FROM " + table)
	r.must(err)
	defer rows.Close()
	columns, err := rows.Columns()
	r.must(err)
	var b strings.Builder
	for rows.Next() {
		values := make([]string, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		r.must(rows.Scan(into...))
		b.WriteString(strings.Join(values, " ") + "\n")
	}
	r.must(rows.Err())
	return b.String()
}
