package oauthclient_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/outward/oauthclient"
	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/test/issuer"
)

// front is a protected server that says "in" to those whom it lets in.
func front(t *testing.T, as *issuer.Server) *issuer.Guard {
	t.Helper()
	g := &issuer.Guard{Issuer: as, Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "in") })}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	g.URL = s.URL + "/mcp"
	return g
}

var clerk = oauthclient.Client{Grant: oauthclient.ClientCredentials, ID: "clerk", Secret: "s3cret"}

func known() map[string]issuer.Client { return map[string]issuer.Client{"clerk": {Secret: "s3cret"}} }

// open returns a transport and what a request through it comes to.
func open(t *testing.T, o oauthclient.Options) (*oauthclient.Transport, func() (string, error)) {
	t.Helper()
	if o.Vault == nil {
		o.Vault = &issuer.Vault{}
	}
	if o.Base == nil {
		o.Base = outbound.Transport(outbound.Options{AllowPrivate: true})
	}
	o.Plain = true
	o.Client.Redirect = "http://localhost:3000/back"
	tr, err := oauthclient.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tr, func() (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.URL, strings.NewReader("{}"))
		if err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "Bearer of-the-caller")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(text)), err
	}
}

func TestOneTokenServesManyRequests(t *testing.T) {
	as := issuer.New(t, known())
	g := front(t, as)
	_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := get(); err != nil || got != "200 in" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	asked := as.Asked()
	if len(asked) != 1 || asked[0].Form.Get("resource") != g.URL || asked[0].Form.Get("scope") != "files:read" {
		t.Errorf("asked for %+v", asked)
	}
	for _, h := range g.Headers() {
		if strings.Contains(h.Get("Authorization"), "of-the-caller") {
			t.Error("the caller's token went through")
		}
	}
}

func TestPrivateKeyJWT(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := oauthclient.ParseKey(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	if err != nil {
		t.Fatal(err)
	}
	as := issuer.New(t, map[string]issuer.Client{"clerk": {Key: key.Public()}})
	_, get := open(t, oauthclient.Options{URL: front(t, as).URL, Client: oauthclient.Client{Grant: oauthclient.ClientCredentials, ID: "clerk", Key: signer}})
	if got, err := get(); err != nil || got != "200 in" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := oauthclient.ParseKey("no key"); err == nil {
		t.Error("parsed")
	}
}

func TestRefreshNamesTheResource(t *testing.T) {
	as := issuer.New(t, nil)
	as.Expires = 40
	g := front(t, as)
	now := time.Now()
	vault := &issuer.Vault{}
	o := oauthclient.Options{URL: g.URL, Vault: vault, Consent: agree(t), Now: func() time.Time { return now }}
	_, get := open(t, o)
	if got, err := get(); err != nil || got != "200 in" {
		t.Fatalf("%q, %v", got, err)
	}
	now = now.Add(15 * time.Second) // 25 s before it expires
	_, again := open(t, o)          // after a restart
	if got, err := again(); err != nil || got != "200 in" {
		t.Fatalf("%q, %v", got, err)
	}
	asked := as.Asked()
	if len(asked) != 2 || asked[1].Form.Get("grant_type") != "refresh_token" || asked[1].Form.Get("resource") != g.URL {
		t.Errorf("asked %+v", asked)
	}
	if as.Families != 1 {
		t.Errorf("registered %d times", as.Families)
	}
}

// TestRefreshTokenIsUsedOnce: two nodes have one vault. A refresh token that one
// of them has spent is not sent again by the other: issuers take that for theft
// and revoke all that they gave.
func TestRefreshTokenIsUsedOnce(t *testing.T) {
	as := issuer.New(t, nil)
	as.Expires = 40
	now := time.Now()
	o := oauthclient.Options{URL: front(t, as).URL, Vault: &issuer.Vault{}, Consent: agree(t), Now: func() time.Time { return now }}
	_, here := open(t, o)
	_, there := open(t, o)
	for range 2 {
		for _, get := range []func() (string, error){here, there} {
			if got, err := get(); err != nil || got != "200 in" {
				t.Fatalf("%q, %v", got, err)
			}
		}
		now = now.Add(15 * time.Second) // 25 s before it expires
	}
	spent := map[string]bool{}
	for _, a := range as.Asked() {
		token := a.Form.Get("refresh_token")
		if token != "" && spent[token] {
			t.Error("a refresh token was sent twice")
		}
		spent[token] = true
	}
	if len(spent) != 2 { // one, and none for the first request
		t.Errorf("%d refresh tokens were sent", len(spent)-1)
	}
}

// agree is a person who does what they are asked.
func agree(t *testing.T) oauthclient.Consent {
	return func(_ context.Context, p oauthclient.Pending) (url.Values, error) {
		browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := browser.Get(p.URL)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		back, err := resp.Location()
		if err != nil {
			return nil, err
		}
		return back.Query(), nil
	}
}

func TestStepUpAsksForAllScopesAtOnce(t *testing.T) {
	as := issuer.New(t, known())
	g := front(t, as)
	_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
	for _, scope := range []string{"", "files:write"} {
		g.Need(scope)
		if got, err := get(); err != nil || got != "200 in" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	asked := as.Asked()
	if len(asked) != 2 || asked[1].Form.Get("scope") != "files:read files:write" {
		t.Errorf("asked %+v", asked)
	}
}

// TestStepUpEnds is a loop: a server that wants more each time is asked
// three times.
func TestStepUpEnds(t *testing.T) {
	as := issuer.New(t, known())
	g := front(t, as)
	n := 0
	g.Next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="level-%d"`, n))
		w.WriteHeader(http.StatusForbidden)
	})
	_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
	if got, err := get(); err != nil || got != "403 " {
		t.Errorf("%q, %v", got, err)
	}
	if asked := as.Asked(); len(asked) != 4 { // the first token, and three more
		t.Errorf("%d tokens were asked for", len(asked))
	}
}

// TestNamedAddressesAreNotDialled puts addresses into every place where a server names one that must
// not be dialled, or not followed.
func TestNamedAddressesAreNotDialled(t *testing.T) {
	for name, spoil := range map[string]func(*issuer.Server, *issuer.Guard){
		"metadata at the cloud's own address": func(_ *issuer.Server, g *issuer.Guard) {
			g.Challenge = `Bearer resource_metadata="http://169.254.169.254/latest/meta-data"`
		},
		"metadata is a file":                 func(_ *issuer.Server, g *issuer.Guard) { g.Challenge = `Bearer resource_metadata="file:///etc/passwd"` },
		"authorization server is link-local": func(_ *issuer.Server, g *issuer.Guard) { g.Servers = []string{"http://169.254.169.254"} },
		"authorization server with a user":   func(as *issuer.Server, g *issuer.Guard) { g.Servers = []string{"http://me:pw@127.0.0.1"} },
		"token endpoint is link-local": func(as *issuer.Server, _ *issuer.Guard) {
			as.Metadata = map[string]any{"token_endpoint": "http://169.254.169.254/token"}
		},
		"token endpoint is no address": func(as *issuer.Server, _ *issuer.Guard) {
			as.Metadata = map[string]any{"token_endpoint": "gopher://x/token"}
		},
		"authorization endpoint is a script": func(as *issuer.Server, _ *issuer.Guard) {
			as.Metadata = map[string]any{"authorization_endpoint": "javascript:alert(1)"}
		},
		"registration at a file": func(as *issuer.Server, _ *issuer.Guard) {
			as.Metadata = map[string]any{"registration_endpoint": "file:///tmp/x"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			as := issuer.New(t, known())
			g := front(t, as)
			spoil(as, g)
			_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
			got, err := get()
			if err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q, %v", got, err)
			}
			if len(as.Asked()) > 0 {
				t.Error("a token was asked for")
			}
		})
	}
	t.Run("a trap", testTrap)
	t.Run("private addresses without the setting", func(t *testing.T) {
		as := issuer.New(t, known())
		g := front(t, as)
		_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk, Base: outbound.Transport(outbound.Options{})})
		if got, err := get(); err == nil {
			t.Errorf("reached: %q", got)
		}
		if len(g.Headers()) > 0 {
			t.Error("the server saw a request")
		}
	})
}

// testTrap has every place lead to a server that answers, at an address that
// is no more allowed than those above: it would notice if it were dialled.
func testTrap(t *testing.T) {
	var caught atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caught.Add(1)
		fmt.Fprintf(w, `{"resource":"x","issuer":"x","access_token":"x","token_type":"Bearer"}`)
	}))
	t.Cleanup(trap.Close)
	address := strings.Replace(trap.URL, "127.0.0.1", "0.0.0.0", 1) // this machine, by another name
	if resp, err := http.Get(address); err != nil || caught.Swap(0) != 1 {
		t.Fatalf("the trap does not work: %v", err)
	} else {
		resp.Body.Close()
	}
	for name, spoil := range map[string]func(*issuer.Server, *issuer.Guard){
		"resource_metadata":     func(_ *issuer.Server, g *issuer.Guard) { g.Challenge = `Bearer resource_metadata="` + address + `"` },
		"authorization_servers": func(_ *issuer.Server, g *issuer.Guard) { g.Servers = []string{address} },
		"token_endpoint":        func(as *issuer.Server, _ *issuer.Guard) { as.Metadata = map[string]any{"token_endpoint": address} },
		"registration_endpoint": func(as *issuer.Server, _ *issuer.Guard) {
			as.Metadata = map[string]any{"registration_endpoint": address}
		},
	} {
		t.Run(name, func(t *testing.T) {
			as := issuer.New(t, known())
			g := front(t, as)
			spoil(as, g)
			o := oauthclient.Options{URL: g.URL, Client: clerk}
			if name == "registration_endpoint" {
				o = oauthclient.Options{URL: g.URL, Consent: agree(t)}
			}
			_, get := open(t, o)
			if got, err := get(); err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q, %v", got, err)
			}
			if n := caught.Swap(0); n != 0 {
				t.Errorf("the trap caught %d requests", n)
			}
		})
	}
}

// TestServersCannotPoseAsOthers has servers that pretend to be others.
func TestServersCannotPoseAsOthers(t *testing.T) {
	t.Run("metadata of another origin", func(t *testing.T) {
		as := issuer.New(t, known())
		g := front(t, as)
		for _, other := range []string{"https://bank.example/mcp", strings.Replace(g.URL, "/mcp", "/mcp2", 1), g.URL + "/deeper", "::"} {
			g.Resource = other
			_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
			if got, err := get(); err == nil || len(as.Asked()) > 0 {
				t.Errorf("%s: %q, %v", other, got, err)
			}
		}
	})
	t.Run("issuer of another name", func(t *testing.T) {
		as := issuer.New(t, known())
		g := front(t, as)
		as.Metadata = map[string]any{"issuer": as.URL + "/"}
		_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
		if got, err := get(); err == nil || len(as.Asked()) > 0 {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("the owner's client goes to no other issuer", func(t *testing.T) {
		first, second := issuer.New(t, known()), issuer.New(t, known())
		g := front(t, first)
		_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
		if got, err := get(); err != nil || got != "200 in" {
			t.Fatalf("%q, %v", got, err)
		}
		g.Issuer = second // the first one's tokens are worth nothing now
		if got, err := get(); err == nil {
			t.Errorf("%q", got)
		}
		if len(second.Asked()) > 0 {
			t.Error("the second issuer saw the first one's client")
		}
	})
	t.Run("a registered client registers anew", func(t *testing.T) {
		first, second := issuer.New(t, nil), issuer.New(t, nil)
		g := front(t, first)
		_, get := open(t, oauthclient.Options{URL: g.URL, Consent: agree(t)})
		for i, as := range []*issuer.Server{first, second} {
			g.Issuer = as
			if got, err := get(); err != nil || got != "200 in" {
				t.Fatalf("%d: %q, %v", i, got, err)
			}
			if as.Families != 1 {
				t.Errorf("registered %d times", as.Families)
			}
		}
	})
	t.Run("another server's request", func(t *testing.T) {
		as := issuer.New(t, known())
		g, other := front(t, as), front(t, as)
		tr, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
		if _, err := get(); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, other.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := tr.RoundTrip(req); err == nil {
			resp.Body.Close()
			t.Error("sent")
		}
		if len(other.Headers()) > 0 {
			t.Error("the other server got something")
		}
	})
}

func TestWrongTokenIsNotTriedForEver(t *testing.T) {
	as := issuer.New(t, known())
	as.Aud = "https://somewhere.else/mcp"
	g := front(t, as)
	_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk})
	if got, err := get(); err != nil || !strings.HasPrefix(got, "401") {
		t.Errorf("%q, %v", got, err)
	}
	if asked := as.Asked(); len(asked) != 1 {
		t.Errorf("%d tokens were asked for", len(asked))
	}
}

func TestRefusalsAreNotRepeatedAtOnce(t *testing.T) {
	as := issuer.New(t, nil) // knows nobody
	g := front(t, as)
	now := time.Now()
	_, get := open(t, oauthclient.Options{URL: g.URL, Client: clerk, Now: func() time.Time { return now }})
	for range 5 {
		if _, err := get(); err == nil || !strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "refused by the test") {
			t.Fatal(err)
		}
	}
	if n := len(as.Asked()); n != 1 {
		t.Errorf("asked %d times", n)
	}
	now = now.Add(time.Minute)
	if _, err := get(); err == nil || len(as.Asked()) != 2 {
		t.Errorf("%v, asked %d times", err, len(as.Asked()))
	}
}
