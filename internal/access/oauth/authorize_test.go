package oauth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
)

// errorOf returns the error that a client gets back, with state and iss.
func (r *rig) errorOf(t *testing.T, q url.Values) string {
	t.Helper()
	w := get(r.s, "/oauth/authorize?"+q.Encode())
	to, err := url.Parse(w.Header().Get("Location"))
	r.must(err)
	a := to.Query()
	if w.Code != http.StatusFound || !strings.HasPrefix(to.String(), callback+"?") || a.Get("state") != q.Get("state") || a.Get("iss") != issuer || a.Get("code") != "" {
		t.Errorf("%v: %d %s", q, w.Code, to)
	}
	return a.Get("error")
}

func TestPKCEIsRequired(t *testing.T) {
	r := newRig(t)
	challenge := encode(auth.Hash(verifier))
	for _, q := range []url.Values{
		r.query("code_challenge", ""), r.query("code_challenge_method", ""), r.query("code_challenge_method", "plain"), r.query("code_challenge_method", "s256"),
		r.query("code_challenge", challenge[:42]), r.query("code_challenge", challenge+"A"), r.query("code_challenge", challenge[:42]+"="), r.query("code_challenge", challenge[:42]+"+"),
	} {
		if e := r.errorOf(t, q); e != "invalid_request" {
			t.Errorf("%v: %q", q, e)
		}
	}
}

func TestOnlyCode(t *testing.T) {
	r := newRig(t)
	for _, kind := range []string{"token", "id_token", "code token", ""} {
		if e := r.errorOf(t, r.query("response_type", kind)); e != "unsupported_response_type" {
			t.Errorf("%q: %q", kind, e)
		}
	}
	if e := r.errorOf(t, r.query("response_mode", "fragment")); e != "invalid_request" {
		t.Errorf("response_mode: %q", e)
	}
}

func TestForeignResources(t *testing.T) {
	r := newRig(t)
	for _, resource := range []string{
		"https://evil.example/mcp", issuer + "/x/../" + r.agents["b"] + "/mcp", r.endpoint("a") + "#x", r.endpoint("a") + "?x", r.endpoint("a") + "/", issuer + ".evil/mcp",
		"HTTPS://mcp.example.com/mcp", issuer + "//mcp", issuer + "/%61/mcp", issuer + "/a b/mcp", issuer + "/oauth/token", "mcp",
	} {
		if e := r.errorOf(t, r.query("resource", resource)); e != "invalid_target" {
			t.Errorf("%q: %q", resource, e)
		}
	}
	q := r.query()
	q.Add("resource", r.endpoint("b"))
	if e := r.errorOf(t, q); e != "invalid_target" {
		t.Errorf("two resources: %q", e)
	}
	for _, resource := range []string{"", issuer, issuer + "/", issuer + "/mcp"} {
		r.begin(r.query("resource", resource))
	}
}

func TestConsentStaysInItsBrowser(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	allow := func() (string, *http.Cookie) {
		tx, cookie := r.begin(r.query())
		back, err := r.s.Allow(ctx, tx, r.owner.ID, Choice{Agents: []string{r.agents["a"]}})
		r.must(err)
		return strings.TrimPrefix(back, issuer), cookie
	}
	_, foreign := r.begin(r.query())
	back, cookie := allow()
	if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("cookie %v", cookie)
	}
	if w := get(r.s, back); w.Code != http.StatusForbidden || w.Header().Get("Location") != "" {
		t.Errorf("no cookie: %d", w.Code)
	}
	if w := get(r.s, back, cookie); w.Code != http.StatusForbidden {
		t.Errorf("the ticket was seen elsewhere and still works: %d", w.Code)
	}
	back, _ = allow()
	if w := get(r.s, back, foreign); w.Code != http.StatusForbidden {
		t.Errorf("another browser's cookie: %d", w.Code)
	}
	back, cookie = allow()
	if w := get(r.s, back, cookie, foreign); w.Code != http.StatusForbidden {
		t.Errorf("two cookies: %d", w.Code)
	}
	back, cookie = allow()
	if w := get(r.s, back[:len(back)-1]+"x", cookie); w.Code != http.StatusForbidden {
		t.Errorf("a wrong ticket: %d", w.Code)
	}
	if w := get(r.s, back, cookie); w.Code != http.StatusFound {
		t.Errorf("the right one after a wrong one: %d", w.Code)
	}
	if w := get(r.s, back, cookie); w.Code != http.StatusForbidden {
		t.Errorf("the ticket works twice: %d", w.Code)
	}
	back, cookie = allow()
	r.pass(txFor + time.Second)
	if w := get(r.s, back, cookie); w.Code != http.StatusForbidden {
		t.Errorf("a late ticket: %d", w.Code)
	}
	if grants, err := r.s.ListGrants(ctx, r.owner.ID); err != nil || len(grants) != 1 {
		t.Errorf("%d grants of one finished consent, %v", len(grants), err)
	}
}

// TestTwoFlowsInOneBrowser: the cookie of the first is kept by the second.
func TestTwoFlowsInOneBrowser(t *testing.T) {
	r := newRig(t)
	first, cookie := r.begin(r.query())
	w := get(r.s, "/oauth/authorize?"+r.query("resource", r.endpoint("b")).Encode(), cookie)
	if again := w.Result().Cookies(); len(again) != 1 || again[0].Value != cookie.Value {
		t.Fatalf("cookies %v", again)
	}
	back, err := r.s.Allow(context.Background(), first, r.owner.ID, Choice{Agents: []string{r.agents["a"]}})
	r.must(err)
	if r.answered(back, cookie).Get("code") == "" {
		t.Error("the first flow broke")
	}
}

func TestAnotherClientIsAskedAfresh(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	r.tokens(r.query(), "a")
	tx, _ := r.begin(r.query())
	a, err := r.s.AskFor(ctx, tx, r.owner.ID)
	if err != nil || !cmp.Equal(a.Remembered, []string{r.agents["a"]}) {
		t.Errorf("the same client: %+v, %v", a, err)
	}
	if a, err := r.s.AskFor(ctx, tx, r.person.ID); err != nil || a.Remembered != nil {
		t.Errorf("another person: %+v, %v", a, err)
	}
	r.client = r.register(callback) // the same name and redirect
	tx, _ = r.begin(r.query())
	if a, err := r.s.AskFor(ctx, tx, r.owner.ID); err != nil || a.Remembered != nil || a.RememberedAll {
		t.Errorf("another client: %+v, %v", a, err)
	}
}

func TestAskSaysWhoAsks(t *testing.T) {
	r := newRig(t)
	tx, _ := r.begin(r.query("scope", "openid agent:"+r.agents["b"]+" agent:"+r.agents["a"]+" agent:../x", "redirect_uri", "http://127.0.0.1:61000/cb"))
	a, err := r.s.Ask(context.Background(), tx)
	r.must(err)
	want := Ask{
		Client:       Client{ID: r.client, Name: "App", Host: "127.0.0.1:61000", Loopback: true, Registered: Dynamic},
		RedirectHost: "127.0.0.1:61000", AgentID: r.agents["a"], Agents: []string{r.agents["a"], r.agents["b"]},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	if _, err := r.s.Ask(context.Background(), "x"); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("no such request: %v", err)
	}
}

// TestTicketOfAnotherPerson: who has answered a request keeps it.
func TestTicketOfAnotherPerson(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	tx, cookie := r.begin(r.query())
	back, err := r.s.Allow(ctx, tx, r.owner.ID, Choice{Agents: []string{r.agents["a"]}})
	r.must(err)
	if _, err := r.s.Deny(ctx, tx, r.person.ID); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("another person answers: %v", err)
	}
	_, theirs := r.begin(r.query())
	if w := get(r.s, strings.TrimPrefix(back, issuer), theirs); w.Code != http.StatusForbidden {
		t.Errorf("replayed in another browser: %d", w.Code)
	}
	if w := get(r.s, strings.TrimPrefix(back, issuer), cookie); w.Code != http.StatusForbidden {
		t.Errorf("after the replay: %d", w.Code)
	}
}

func TestOnlyOwnAgentsAreGranted(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	ids := func(names ...string) (list []string) {
		for _, name := range names {
			list = append(list, r.agents[name])
		}
		return list
	}
	for _, tt := range []struct {
		name     string
		resource string
		choice   Choice
		granted  []string // nil = access_denied
	}{
		{"own", "", Choice{Agents: ids("a", "b")}, ids("a", "b")},
		{"tampered", "", Choice{Agents: append(ids("a", "foreign", "closed"), "nosuch", "x\x00")}, ids("a")},
		{"none", "", Choice{}, nil},
		{"foreign", "", Choice{Agents: ids("foreign")}, nil},
		{"closed", "", Choice{Agents: ids("closed")}, nil},
		{"not the one that is wanted", r.endpoint("a"), Choice{Agents: ids("b")}, nil},
		{"all, of another", r.endpoint("foreign"), Choice{All: true}, nil},
		{"all, of no such", issuer + "/nosuch/mcp", Choice{All: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tx, cookie := r.begin(r.query("resource", tt.resource))
			back, err := r.s.Allow(ctx, tx, r.owner.ID, tt.choice)
			r.must(err)
			answer := r.answered(back, cookie)
			if tt.granted == nil {
				if answer.Get("error") != "access_denied" || answer.Get("code") != "" {
					t.Errorf("%v", answer)
				}
				return
			}
			grants, err := r.s.ListGrants(ctx, r.owner.ID)
			r.must(err)
			slices.Sort(tt.granted)
			if diff := cmp.Diff(tt.granted, grants[0].Agents); diff != "" {
				t.Error(diff)
			}
		})
	}
	tx, cookie := r.begin(r.query())
	back, err := r.s.Deny(ctx, tx, r.owner.ID)
	r.must(err)
	if a := r.answered(back, cookie); a.Get("error") != "access_denied" || a.Get("state") != "st&ate" {
		t.Errorf("a no: %v", a)
	}
}

// TestRequestsAreLimited: each is a row, so nobody makes very many.
func TestRequestsAreLimited(t *testing.T) {
	r := newRig(t)
	for range beginsMost {
		r.begin(r.query())
	}
	if w := get(r.s, "/oauth/authorize?"+r.query().Encode()); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d", w.Code)
	}
	r.pass(time.Minute)
	r.begin(r.query())
}
