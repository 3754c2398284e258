package auth

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

const syncPath = "/api/v1/agents/sync?x=1"

// signUp registers an instance with one agent and returns its private key.
func (r *rig) signUp() ed25519.PrivateKey {
	r.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.inst = beeos.Instance{ID: beeos.NewID(), OwnerID: r.user.ID, Name: "laptop", PublicKey: public}
	if err := r.DB.Instances.Create(r.t.Context(), r.inst); err != nil {
		r.t.Fatal(err)
	}
	res, err := r.DB.Agents.Sync(r.t.Context(), r.inst, []beeos.Definition{{Name: "echo"}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.agent = res.Created[0].ID
	return private
}

func signed(header string, change func(*http.Request)) *http.Request {
	r := httptest.NewRequest("POST", syncPath, nil)
	r.Header.Set("Authorization", header)
	if change != nil {
		change(r)
	}
	return r
}

func TestInstance(t *testing.T) {
	r := newRig(t)
	key := r.signUp()
	_, stranger, _ := ed25519.GenerateKey(nil)
	body := []byte(`{"agents":[]}`)
	good := func() string { return beeos.Sign(key, r.inst.ID, "POST", syncPath, body) }
	for _, tt := range []struct {
		name   string
		header string
		body   []byte
		change func(*http.Request)
		code   beeos.Code
		says   string
		unread bool // the body, which may be large
	}{
		{name: "good", header: good(), body: body},
		{name: "tampered body", header: good(), body: []byte(`{"agents":[1]}`), code: beeos.InvalidToken, says: "does not fit"},
		{name: "no body", header: good(), code: beeos.InvalidToken},
		{name: "tampered path", header: good(), body: body, change: func(q *http.Request) { q.URL.Path = "/api/v1/agents/connect" }, code: beeos.InvalidToken},
		{name: "tampered query", header: good(), body: body, change: func(q *http.Request) { q.URL.RawQuery = "x=2" }, code: beeos.InvalidToken},
		{name: "other method", header: good(), body: body, change: func(q *http.Request) { q.Method = "PUT" }, code: beeos.InvalidToken},
		{name: "other key", header: beeos.Sign(stranger, r.inst.ID, "POST", syncPath, body), body: body, code: beeos.InvalidToken},
		{name: "unknown instance", header: beeos.Sign(key, "nobody", "POST", syncPath, body), body: body, code: beeos.InvalidToken, says: "register again", unread: true},
		{name: "other nonce", header: otherNonce(good()), body: body, code: beeos.InvalidToken, says: "does not fit"},
		{name: "broken", header: good() + "x", body: body, code: beeos.Unauthorized, unread: true},
		{name: "no text", header: beeos.Sign(key, "nobody\xff", "POST", syncPath, body), body: body, code: beeos.Unauthorized, unread: true},
		{name: "non-canonical S", header: nonCanonical(t, good()), body: body, code: beeos.InvalidToken},
		{name: "bearer", header: "Bearer oag_x", body: body, code: beeos.Unauthorized, says: "Ed25519 <keyId>", unread: true},
		{name: "none", body: body, change: func(q *http.Request) { q.Header.Del("Authorization") }, code: beeos.MissingToken, says: "not signed", unread: true},
		{name: "two", header: good(), body: body, change: func(q *http.Request) { q.Header.Add("Authorization", good()) }, code: beeos.Unauthorized, unread: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read := false
			got, body, err := r.Instance(signed(tt.header, tt.change), func() ([]byte, error) { read = true; return tt.body, nil })
			if tt.unread && read {
				t.Error("the body was read before the sender was known")
			}
			if err == nil && !bytes.Equal(body, tt.body) {
				t.Errorf("body %q", body)
			}
			if tt.code != "" {
				wantCode(t, err, tt.code, tt.says)
				if got.ID != "" {
					t.Errorf("an instance beside the error: %+v", got)
				}
				return
			}
			if err != nil || got.ID != r.inst.ID || got.OwnerID != r.user.ID || !bytes.Equal(got.PublicKey, r.inst.PublicKey) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func noBody() ([]byte, error) { return nil, nil }

func otherNonce(header string) string {
	f := strings.Split(header, ":")
	f[2] = strings.Repeat("0", len(f[2]))
	return strings.Join(f, ":")
}

// nonCanonical adds the group's order to S: the same point, other bytes.
func nonCanonical(t *testing.T, header string) string {
	t.Helper()
	i := strings.LastIndexByte(header, ':') + 1
	sig, err := base64.StdEncoding.DecodeString(header[i:])
	if err != nil {
		t.Fatal(err)
	}
	order := [32]byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10}
	carry := 0
	for n := range order {
		carry += int(sig[32+n]) + int(order[n])
		sig[32+n], carry = byte(carry), carry>>8
	}
	return header[:i] + base64.StdEncoding.EncodeToString(sig)
}

func TestSignatureWindow(t *testing.T) {
	r := newRig(t)
	key := r.signUp()
	for _, tt := range []struct {
		off time.Duration
		ok  bool
	}{{0, true}, {59 * time.Second, true}, {-58 * time.Second, true}, {62 * time.Second, false}, {-62 * time.Second, false}, {1e6 * time.Hour, false}} {
		header := beeos.Sign(key, r.inst.ID, "POST", syncPath, nil)
		r.clock = time.Now().Add(tt.off)
		_, _, err := r.Instance(signed(header, nil), noBody)
		if tt.ok && err != nil {
			t.Errorf("%s off: %v", tt.off, err)
		}
		if !tt.ok {
			wantCode(t, err, beeos.InvalidToken, "clock")
		}
	}
	header := fmt.Sprintf("Ed25519 %s:9223372036854775807:%s:%s", r.inst.ID, strings.Repeat("n", 32), base64.StdEncoding.EncodeToString(make([]byte, 64)))
	_, _, err := r.Instance(signed(header, nil), noBody)
	wantCode(t, err, beeos.InvalidToken)
}

// Two replicas share a database; one of them gets the request, somebody sends
// it to both, many times over.
func TestReplay(t *testing.T) {
	r := newRig(t)
	key := r.signUp()
	replica := New(Options{Keys: r.DB.Keys, Instances: r.DB.Instances, People: r.DB.People, Cluster: r.DB.Cluster, Now: r.Now})
	header := beeos.Sign(key, r.inst.ID, "POST", syncPath, nil)
	var accepted atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			c := r.Authenticator
			if i%2 == 1 {
				c = replica
			}
			if _, _, err := c.Instance(signed(header, nil), noBody); err == nil {
				accepted.Add(1)
			}
		})
	}
	wg.Wait()
	if n := accepted.Load(); n != 1 {
		t.Errorf("accepted %d times", n)
	}
	_, _, err := replica.Instance(signed(header, nil), noBody)
	wantCode(t, err, beeos.InvalidToken, "sign every request anew")

	// Once it is forgotten it is too old.
	r.clock = r.clock.Add(beeos.SignatureWindow + 2*time.Minute)
	if err := r.DB.Cluster.Prune(t.Context(), r.clock); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Instance(signed(header, nil), noBody)
	wantCode(t, err, beeos.InvalidToken, "clock")
}

func TestRevokedAndDisabledSigners(t *testing.T) {
	for name, end := range map[string]func(r *rig) error{
		"revoked":  func(r *rig) error { return r.DB.Instances.Revoke(r.t.Context(), r.user.ID, r.inst.ID) },
		"disabled": func(r *rig) error { return r.DB.People.Lock(r.t.Context(), r.user.ID, time.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			key := r.signUp()
			if err := end(r); err != nil {
				t.Fatal(err)
			}
			_, _, err := r.Instance(signed(beeos.Sign(key, r.inst.ID, "POST", syncPath, nil), nil), noBody)
			wantCode(t, err, beeos.InvalidToken)
		})
	}
}

// A signature that does not verify must not fill the table of nonces.
func TestForgedNoncesAreNotKept(t *testing.T) {
	r := newRig(t)
	r.signUp()
	_, stranger, _ := ed25519.GenerateKey(nil)
	for range 5 {
		_, _, err := r.Instance(signed(beeos.Sign(stranger, r.inst.ID, "POST", syncPath, nil), nil), noBody)
		wantCode(t, err, beeos.InvalidToken)
	}
	var n int
	if err := r.DB.QueryRow("SELECT count(*) FROM nonces").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d nonces, %v", n, err)
	}
}
