package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	agentstore "github.com/beeos/beeos/internal/store/agents"
	keystore "github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// TestLogosOfClientsAreNotShown: a client's picture is neither fetched nor
// linked.
func TestLogosOfClientsAreNotShown(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	k.agents(ann, 1)
	b := k.signedIn(ann)
	res := b.get(b.authorize(k.register("Pretty"), ""))
	if res.status != http.StatusOK || strings.Contains(res.body, "logo.example") {
		t.Errorf("%d: the page links the client's logo", res.status)
	}
	if p := res.header.Get("Content-Security-Policy"); !strings.Contains(p, "img-src 'self'") {
		t.Errorf("pictures may come from elsewhere: %s", p)
	}
}

// TestNamesOfClientsAreHarmlessText: whatever a client calls itself, the page
// says it as harmless text.
func TestNamesOfClientsAreHarmlessText(t *testing.T) {
	for name, want := range map[string]string{
		"Claude":                           "Claude",
		`<img src=x onerror=alert(1)>`:     `<img src=x onerror=alert(1)>`,
		"Cl\u202eedualC":                   "Cl\uFFFDedualC",
		"a\u200b\u2066b\x1b[31m\nc\u0000d": "a\uFFFD\uFFFDb\uFFFD[31m c\uFFFDd",
		"  spaced \t out  ":                "spaced out",
		strings.Repeat("x", 10_000):        strings.Repeat("x", 59) + "…",
		"bad\xffutf8":                      "bad\uFFFDutf8",
		"\U000E0041tag\uE000":              "\uFFFDtag\uFFFD",
	} {
		if got := safetext.Line(name, 60); got != want {
			t.Errorf("clean(%.40q) = %q, want %q", name, got, want)
		}
	}
	k := newStack(t)
	ann := k.user("Ann", false)
	k.agents(ann, 1)
	b := k.signedIn(ann)
	body := b.get(b.authorize(k.register(`<img src=x onerror=alert(1)>`), "")).body
	if strings.Contains(body, "<img src=x") || !strings.Contains(body, "&lt;img src=x") {
		t.Error("a client's name is not escaped")
	}
}

// TestHeadersForbidFramesAndCaches: nothing may frame, cache or follow the
// console, and the consent page says who asks and where the answer goes.
func TestHeadersForbidFramesAndCaches(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	k.agents(ann, 1)
	b := k.signedIn(ann)
	consent := b.authorize(k.register("Claude"), "")
	for _, target := range []string{consent, "/", "/agents", "/signin", "/nowhere", "/welcome?token=x"} {
		h := b.get(target).header
		for name, want := range map[string]string{
			"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", target, name, h.Get(name), want)
			}
		}
		p := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(p, want) {
				t.Errorf("%s: the policy lacks %s: %s", target, want, p)
			}
		}
		if strings.Contains(p, "unsafe") || strings.Contains(p, "*") {
			t.Errorf("%s: the policy has a hole: %s", target, p)
		}
	}
	body := b.get(consent).body
	for _, want := range []string{"program on this computer", "127.0.0.1", "Claude"} {
		if !strings.Contains(body, want) {
			t.Errorf("the consent page does not say %q", want)
		}
	}
}

// TestFormsOfOtherSitesAreRefused: a form that another site sends is refused,
// whatever it wants.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", true)
	b := k.signedIn(ann)
	for _, target := range []string{"/keys", "/mcp-login", "/users", "/account/password", "/signout", "/signin", "/theme", "/nowhere"} {
		for _, header := range []http.Header{
			{"Sec-Fetch-Site": {"cross-site"}},
			{"Sec-Fetch-Site": {"same-site"}},
			{"Origin": {"https://evil.example"}},
			{"Origin": {"null"}},
		} {
			res := b.do(http.MethodPost, target, url.Values{"name": {"x"}}, header)
			if res.status != http.StatusForbidden || !strings.Contains(res.body, "another site") {
				t.Errorf("%s with %v: %d", target, header, res.status)
			}
		}
	}
	if keys, err := k.db.Keys.List(t.Context(), keystore.Filter{Owner: ann.ID}); err != nil || len(keys) != 0 {
		t.Errorf("a key was made: %v, %v", keys, err)
	}
}

// TestConsentBelongsToItsBrowser: an answer given in one browser is of no use
// in another, and only once.
func TestConsentBelongsToItsBrowser(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	victim := k.signedIn(ann)
	page := victim.get(victim.authorize(k.register("Claude"), a.ID))
	f := form(page.body, "consent")
	f.Set("agent", a.ID)
	f.Set("decision", "allow")
	back := continueURL(t, victim.post("/mcp-login", f))
	if res := k.browser().get(back); res.status != http.StatusForbidden {
		t.Errorf("another browser got %d to %q", res.status, res.location())
	}
	if res := victim.post("/mcp-login", f); res.status != http.StatusNotFound {
		t.Errorf("a second answer gave %d", res.status)
	}
}

// TestConsentIsAskedForEachClient: that one client was allowed says nothing
// about another of that name.
func TestConsentIsAskedForEachClient(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	agents := k.agents(ann, 2)
	b := k.signedIn(ann)
	first := k.register("Claude")
	f := form(b.get(b.authorize(first, agents[0].ID)).body, "consent")
	f["agent"] = []string{agents[0].ID, agents[1].ID}
	f.Set("decision", "allow")
	if res := b.get(continueURL(t, b.post("/mcp-login", f))); !strings.HasPrefix(res.location(), testRedirect+"?") || !strings.Contains(res.location(), "code=") {
		t.Fatalf("allowing gave %d to %q", res.status, res.location())
	}
	again := b.get(b.authorize(first, "")).body
	if !strings.Contains(again, "You allowed it before") || strings.Count(again, " checked") != 3 { // both agents, and "only these"
		t.Error("what was allowed before is not remembered")
	}
	other := b.get(b.authorize(k.register("Claude"), ""))
	if other.status != http.StatusOK || strings.Contains(other.body, "You allowed it before") || strings.Count(other.body, " checked") != 1 {
		t.Error("another client of the same name inherits an answer")
	}
}

// TestReturnAddressesStayHere: nobody is led away from here by an address in an
// address.
func TestReturnAddressesStayHere(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	b := k.signedIn(ann)
	for _, evil := range []string{
		"//evil.example", `/\evil.example`, "https://evil.example", "javascript:alert(1)", "/\t/evil.example", "", "evil",
		k.mcp + "/oauth/return?tx=x&next=https://evil.example", k.mcp + "/oauth/return?tx=", k.mcp + ".evil.example/oauth/return?tx=x",
		k.mcp + "/oauth/return?tx=../x", k.mcp + "/other?tx=x", "https://evil.example/oauth/return?tx=x",
	} {
		if res := b.get("/mcp-login?return_to=" + url.QueryEscape(evil)); res.status != http.StatusSeeOther || res.location() != "/" {
			t.Errorf("return_to %q gave %d to %q", evil, res.status, res.location())
		}
	}
	for _, evil := range []string{"//evil.example", `/\evil.example`, "https://evil.example", "javascript:alert(1)", "/\n/evil", "evil"} {
		for _, res := range []answer{
			b.get("/signin?next=" + url.QueryEscape(evil)),
			k.browser().post("/signin", url.Values{"email": {ann.Email}, "password": {testPassword}, "next": {evil}}),
			b.post("/theme", url.Values{"theme": {"dark"}, "back": {evil}}),
		} {
			if res.status != http.StatusSeeOther || res.location() != "/" {
				t.Errorf("next %q gave %d to %q", evil, res.status, res.location())
			}
		}
	}
	fresh := k.browser()
	login := fresh.authorize(k.register("Claude"), "")
	res := fresh.get(login)
	u, err := url.Parse(res.location())
	if err != nil || res.status != http.StatusSeeOther || u.Path != "/signin" {
		t.Fatalf("not signed in: %d to %q", res.status, res.location())
	}
	res = fresh.post("/signin", url.Values{"email": {ann.Email}, "password": {testPassword}, "next": {u.Query().Get("next")}})
	if k.web+res.location() != login {
		t.Errorf("after signing in the browser goes to %q, not back to %q", res.location(), login)
	}
}

// TestConsentBelongsToItsPerson: the answer of one person cannot be given in
// the session of another.
func TestConsentBelongsToItsPerson(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	a := k.agents(ann, 1)[0]
	b := k.signedIn(ann)
	f := form(b.get(b.authorize(k.register("Claude"), "")).body, "consent")
	f.Set("agent", a.ID)
	f.Set("decision", "allow")
	if res := b.post("/signin", url.Values{"email": {bob.Email}, "password": {testPassword}, "next": {"/"}}); res.status != http.StatusSeeOther {
		t.Fatal(res.status)
	}
	if res := b.post("/mcp-login", f); res.status != http.StatusConflict {
		t.Errorf("Ann's page answered as Bob gave %d", res.status)
	}
}

// TestTamperedConsentGrantsNoMore: what a tampered form adds does not count;
// what is left decides.
func TestTamperedConsentGrantsNoMore(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	mine, foreign := k.agents(ann, 2), k.agents(bob, 1)[0]
	off := false
	if _, err := k.db.Agents.Update(t.Context(), mine[1].ID, agentstore.Patch{MCPEnabled: &off}); err != nil {
		t.Fatal(err)
	}
	b := k.signedIn(ann)
	client := k.register("Claude")
	answer := func(agents ...string) string {
		t.Helper()
		page := b.get(b.authorize(client, ""))
		if strings.Contains(page.body, foreign.ID) || strings.Contains(page.body, mine[1].ID) {
			t.Error("the page offers what cannot be granted")
		}
		f := form(page.body, "consent")
		f["agent"] = agents
		f.Set("decision", "allow")
		res := b.get(continueURL(t, b.post("/mcp-login", f)))
		return res.location()
	}
	if got := answer(foreign.ID, mine[1].ID, "agent_none"); !strings.Contains(got, "error=access_denied") {
		t.Errorf("granting nothing of one's own led to %q", got)
	}
	if got := answer(foreign.ID, mine[0].ID); !strings.Contains(got, "code=") {
		t.Errorf("granting one of three led to %q", got)
	}
	grants, err := k.oauth.ListGrants(t.Context(), ann.ID)
	if err != nil || len(grants) != 1 || len(grants[0].Agents) != 1 || grants[0].Agents[0] != mine[0].ID {
		t.Errorf("what was granted: %+v, %v", grants, err)
	}
}

func TestConsentNeedsAnAnswer(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	agents := k.agents(ann, 2)
	b := k.signedIn(ann)
	page := b.get(b.authorize(k.register("Claude"), agents[1].ID)).body
	if strings.Index(page, agents[1].ID) > strings.Index(page, agents[0].ID) || !strings.Contains(page, `value="`+agents[1].ID+`" checked`) || strings.Contains(page, `value="`+agents[0].ID+`" checked`) {
		t.Error("the agent that was asked for is not the one that is picked")
	}
	f := form(page, "consent")
	f.Set("decision", "allow")
	if res := b.post("/mcp-login", f); res.status != http.StatusUnprocessableEntity || !strings.Contains(res.body, "at least one agent") {
		t.Errorf("allowing nothing gave %d", res.status)
	}
	f.Set("agent", agents[0].ID)
	if res := b.post("/mcp-login", f); res.status != http.StatusUnprocessableEntity || !strings.Contains(res.body, "must be among them") {
		t.Errorf("allowing another agent than the one asked for gave %d", res.status)
	}
	f.Set("decision", "maybe")
	if res := b.post("/mcp-login", f); res.status != http.StatusBadRequest {
		t.Errorf("neither yes nor no gave %d", res.status)
	}
	f.Set("decision", "deny")
	if res := b.get(continueURL(t, b.post("/mcp-login", f))); !strings.Contains(res.location(), "error=access_denied") || !strings.Contains(res.location(), "state=st") {
		t.Errorf("denying led to %q", res.location())
	}
	other := b.get(b.authorize(k.register("Claude"), "agent_somebody_elses")).body
	if !strings.Contains(other, "not yours to give") || strings.Contains(other, `value="allow"`) {
		t.Error("an agent of somebody else can be allowed")
	}
}

// Over plain http, a browser on another machine would drop the cookie and
// leave its user puzzled.
func TestSignInOverPlainHTTP(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	k.site.Server.PublicURL = "http://beeos.example"
	for host, want := range map[string]int{"localhost:3000": 303, "127.0.0.1": 303, "[::1]:3000": 303, "beeos.example": 403, "10.0.0.5:3000": 403} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.web+"/signin", strings.NewReader(url.Values{"email": {ann.Email}, "password": {testPassword}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want || (want == 403) != (len(res.Cookies()) == 0) {
			t.Errorf("%s: %d with %d cookies, want %d", host, res.StatusCode, len(res.Cookies()), want)
		}
		for _, c := range res.Cookies() {
			if c.Name != sessionCookie || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
				t.Errorf("the cookie is %s", c)
			}
		}
	}
}

// deadlines is a connection that notes until when it waits for bytes.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// TestFormsKeepTheirDeadline: the edge in front of the site bounds how long a
// body may take, and the site does not lift that.
func TestFormsKeepTheirDeadline(t *testing.T) {
	k := newStack(t)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "http://localhost:3000/signin", strings.NewReader("email=a"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	k.site.ServeHTTP(w, r)
	if len(w.set) > 0 {
		t.Errorf("the site waits until %v", w.set)
	}
}

// TestStrangersSendShortForms: nobody fills our memory without a sign-in.
func TestStrangersSendShortForms(t *testing.T) {
	k := newStack(t)
	sent := strings.NewReader("email=a&password=" + strings.Repeat("x", 200<<10))
	r := httptest.NewRequest(http.MethodPost, "http://localhost:3000/signin", sent)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	k.site.ServeHTTP(httptest.NewRecorder(), r)
	if read := 200<<10 - sent.Len(); read > 64<<10 {
		t.Errorf("%d bytes of a stranger's form were read", read)
	}
}
