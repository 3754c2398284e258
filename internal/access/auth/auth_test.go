package auth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	keystore "github.com/beeos/beeos/internal/store/keys"
)

// rig is an Authenticator on a fresh database, with a clock of its own, one user and
// one agent.
type rig struct {
	*Authenticator
	DB    *store.Store
	t     *testing.T
	clock time.Time
	user  beeos.User
	inst  beeos.Instance
	agent string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "beeos.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	r := &rig{t: t, DB: db, clock: time.Now()}
	r.Authenticator = New(Options{Keys: db.Keys, Instances: db.Instances, People: db.People, Cluster: db.Cluster, Now: func() time.Time { return r.clock }})
	r.user = beeos.User{ID: beeos.NewID(), Email: "a@example.com"}
	if err := db.People.CreateUser(t.Context(), r.user); err != nil {
		t.Fatal(err)
	}
	return r
}

// key makes an API key and returns its secret.
func (r *rig) key(k beeos.Key) string {
	r.t.Helper()
	secret, hash, prefix := NewKey(k.Kind)
	k.OwnerID, k.Prefix = r.user.ID, prefix
	if err := r.DB.Keys.Create(r.t.Context(), k, hash); err != nil {
		r.t.Fatal(err)
	}
	return secret
}

func request(headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/agent_x/mcp?key=ignored", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func wantCode(t *testing.T, err error, code beeos.Code, words ...string) {
	t.Helper()
	if err == nil || beeos.CodeOf(err) != code {
		t.Fatalf("error %v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(beeos.Public(err).Message, w) {
			t.Errorf("message %q does not say %q", beeos.Public(err).Message, w)
		}
	}
}

func TestAuthenticateByKey(t *testing.T) {
	r := newRig(t)
	r.signUp()
	user := r.key(beeos.Key{ID: "u1", Kind: beeos.UserKey, Name: "ci", RatePerMinute: 9})
	agent := r.key(beeos.Key{ID: "b1", Kind: beeos.AgentKey, AgentID: r.agent})
	other := r.key(beeos.Key{ID: "b2", Kind: beeos.AgentKey, AgentID: r.agent})
	expired := r.key(beeos.Key{ID: "u2", Kind: beeos.UserKey, CreatedAt: r.clock.Add(-2 * time.Hour), ExpiresAt: r.clock.Add(-time.Hour)})
	revoked := r.key(beeos.Key{ID: "u3", Kind: beeos.UserKey})
	if err := r.DB.Keys.Revoke(t.Context(), r.user.ID, "u3"); err != nil {
		t.Fatal(err)
	}
	asUser := beeos.Caller{Kind: beeos.ByUserKey, UserID: r.user.ID, CredentialID: "u1", RatePerMinute: 9, Name: "ci"}
	asAgent := beeos.Caller{Kind: beeos.ByAgentKey, UserID: r.user.ID, CredentialID: "b1", AgentID: r.agent, Name: agent[:12]}
	const bearer, header = "Authorization", "X-Agent-API-Key"
	for _, tt := range []struct {
		name    string
		headers []string
		want    beeos.Caller
		code    beeos.Code
		says    string
	}{
		{"user key", []string{bearer, "Bearer " + user}, asUser, "", ""},
		{"any case, spaces", []string{bearer, "bearer   " + user + " "}, asUser, "", ""},
		{"agent key as bearer", []string{bearer, "Bearer " + agent}, asAgent, "", ""},
		{"agent key in its header", []string{header, agent}, asAgent, "", ""},
		{"the same in both", []string{header, agent, bearer, "Bearer " + agent}, asAgent, "", ""},
		{"the same twice", []string{bearer, "Bearer " + user, bearer, "Bearer " + user}, asUser, "", ""},
		{"a user key in both", []string{header, user, bearer, "Bearer " + user}, asUser, "", ""},
		{"none", nil, beeos.Caller{}, beeos.MissingToken, "send"},
		{"two agent keys", []string{header, agent, bearer, "Bearer " + other}, beeos.Caller{}, beeos.Unauthorized, "send one"},
		{"user and agent key", []string{header, agent, bearer, "Bearer " + user}, beeos.Caller{}, beeos.Unauthorized, "send one"},
		{"two bearers", []string{bearer, "Bearer " + agent, bearer, "Bearer " + user}, beeos.Caller{}, beeos.Unauthorized, "send one"},
		{"two headers", []string{header, agent, header, other}, beeos.Caller{}, beeos.Unauthorized, "send one"},
		{"basic", []string{bearer, "Basic dTpw"}, beeos.Caller{}, beeos.Unauthorized, "Bearer <key>"},
		{"bare key", []string{bearer, user}, beeos.Caller{}, beeos.Unauthorized, "Bearer <key>"},
		{"empty", []string{bearer, "Bearer "}, beeos.Caller{}, beeos.Unauthorized, "Bearer <key>"},
		{"user key in the agent's header", []string{header, user}, beeos.Caller{}, beeos.InvalidToken, "Authorization: Bearer"},
		{"expired", []string{bearer, "Bearer " + expired}, beeos.Caller{}, beeos.InvalidToken, "get a new one"},
		{"revoked", []string{bearer, "Bearer " + revoked}, beeos.Caller{}, beeos.InvalidToken, "get a new one"},
		{"unknown", []string{bearer, "Bearer " + beeos.NewSecret("oag_")}, beeos.Caller{}, beeos.InvalidToken, "get a new one"},
		{"wrong prefix", []string{bearer, "Bearer " + beeos.NewSecret("xyz_")}, beeos.Caller{}, beeos.InvalidToken, "get a new one"},
		{"one digit less", []string{bearer, "Bearer " + user[:len(user)-1]}, beeos.Caller{}, beeos.InvalidToken, "get a new one"},
		{"upper case", []string{bearer, "Bearer oag_" + strings.ToUpper(user[4:])}, beeos.Caller{}, beeos.InvalidToken, "get a new one"},
		{"a JWT", []string{bearer, "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"}, beeos.Caller{}, beeos.InvalidToken, "get a new one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // from the database, then from the cache
				got, err := r.Authenticate(request(tt.headers...), Audience{Surface: REST})
				if tt.code != "" {
					wantCode(t, err, tt.code, tt.says)
					for _, secret := range []string{user, agent, other, expired, revoked} {
						if strings.Contains(err.Error(), secret[12:]) {
							t.Errorf("the error shows a secret: %v", err)
						}
					}
				} else if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestBadKeysGetOneAnswer(t *testing.T) {
	r := newRig(t)
	revoked := r.key(beeos.Key{ID: "u1", Kind: beeos.UserKey})
	if err := r.DB.Keys.Revoke(t.Context(), r.user.ID, "u1"); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, token := range []string{revoked, beeos.NewSecret("oag_"), beeos.NewSecret("bak_"), beeos.NewSecret("nop_"), "x"} {
		_, err := r.Key(t.Context(), token)
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("%q and %q differ", text, texts[0])
		}
	}
}

// While an answer is cached the database is not asked: the closed one would
// fail.
func TestKeyIsCachedFor30Seconds(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	secret := r.key(beeos.Key{ID: "u1", Kind: beeos.UserKey})
	if _, err := r.Key(ctx, secret); err != nil {
		t.Fatal(err)
	}
	r.DB.Close()
	r.clock = r.clock.Add(foundFor - time.Millisecond)
	if _, err := r.Key(ctx, secret); err != nil {
		t.Errorf("within 30 s: %v", err)
	}
	r.clock = r.clock.Add(time.Millisecond)
	_, err := r.Key(ctx, secret)
	wantCode(t, err, beeos.InternalError)
}

func TestCachedKeyExpiresOnTime(t *testing.T) {
	r := newRig(t)
	secret := r.key(beeos.Key{ID: "u1", Kind: beeos.UserKey, ExpiresAt: r.clock.Add(5 * time.Second)})
	if _, err := r.Key(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.clock = r.clock.Add(6 * time.Second)
	_, err := r.Key(t.Context(), secret)
	wantCode(t, err, beeos.InvalidToken)
}

func TestNewKeyWorksSoonAfterItWasUnknown(t *testing.T) {
	r := newRig(t)
	secret, hash, prefix := NewKey(beeos.UserKey)
	_, err := r.Key(t.Context(), secret)
	wantCode(t, err, beeos.InvalidToken)
	k := beeos.Key{ID: "u1", Kind: beeos.UserKey, OwnerID: r.user.ID, Prefix: prefix}
	if err := r.DB.Keys.Create(t.Context(), k, hash); err != nil {
		t.Fatal(err)
	}
	r.clock = r.clock.Add(absentFor)
	if _, err := r.Key(t.Context(), secret); err != nil {
		t.Errorf("after a second: %v", err)
	}
}

func TestForget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		revoke func(r *rig) (id string, err error)
	}{
		{"key", func(r *rig) (string, error) { return "b1", r.DB.Keys.Revoke(context.Background(), r.user.ID, "b1") }},
		{"agent", func(r *rig) (string, error) { return r.agent, r.DB.Agents.Delete(context.Background(), r.agent) }},
		{"user", func(r *rig) (string, error) {
			return r.user.ID, r.DB.People.Lock(context.Background(), r.user.ID, time.Now())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.signUp()
			secret := r.key(beeos.Key{ID: "b1", Kind: beeos.AgentKey, AgentID: r.agent})
			if _, err := r.Key(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			id, err := tt.revoke(r)
			if err != nil {
				t.Fatal(err)
			}
			r.Forget("something else")
			if _, err := r.Key(t.Context(), secret); err != nil {
				t.Fatalf("cached answer: %v", err)
			}
			r.Forget(id)
			_, err = r.Key(t.Context(), secret)
			wantCode(t, err, beeos.InvalidToken)
		})
	}
}

func TestLastUsedIsWrittenAtTheEnd(t *testing.T) {
	r := newRig(t)
	one, two := r.key(beeos.Key{ID: "u1", Kind: beeos.UserKey}), r.key(beeos.Key{ID: "u2", Kind: beeos.UserKey})
	for _, secret := range []string{one, two} {
		if _, err := r.Key(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	r.Forget("u2") // must not lose its time
	key := r.signUp()
	if _, _, err := r.Instance(signed(beeos.Sign(key, r.inst.ID, "POST", syncPath, nil), nil), noBody); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	keys, err := r.DB.Keys.List(t.Context(), keystore.Filter{Owner: r.user.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.LastUsedAt.UnixMicro() != r.clock.UnixMicro() {
			t.Errorf("%s was last used %v", k.ID, k.LastUsedAt)
		}
	}
	if inst, err := r.DB.Instances.Get(t.Context(), r.inst.ID); err != nil || inst.LastSeen.UnixMicro() != r.clock.UnixMicro() {
		t.Errorf("the instance was last seen %v, %v", inst.LastSeen, err)
	}
	if left := r.used.at; len(left) > 0 {
		t.Errorf("still to write: %v", left)
	}
}

func BenchmarkKey(b *testing.B) {
	db, err := store.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "beeos.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	c := New(Options{Keys: db.Keys, Instances: db.Instances, People: db.People, Cluster: db.Cluster})
	secret, hash, _ := NewKey(beeos.UserKey)
	if err := db.People.CreateUser(b.Context(), beeos.User{ID: "u", Email: "e"}); err != nil {
		b.Fatal(err)
	}
	if err := db.Keys.Create(b.Context(), beeos.Key{ID: "k", Kind: beeos.UserKey, OwnerID: "u"}, hash); err != nil {
		b.Fatal(err)
	}
	r := request("Authorization", "Bearer "+secret)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Authenticate(r, Audience{Surface: REST}); err != nil {
				b.Error(err)
			}
		}
	})
}
