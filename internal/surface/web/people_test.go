package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/wire/mail"
	"github.com/beeos/beeos/test/smtptest"
)

var welcomeLink = regexp.MustCompile(`data-copy="[^"]*(/welcome\?token=bol_[0-9a-f]+)"`)

// An admin invites somebody, who comes in, gets a new password by a link, and
// is locked out again.
func TestInvitedResetDisabled(t *testing.T) {
	k := newStack(t)
	admin := k.signedIn(k.user("Ann", true))
	if res := admin.post("/users", url.Values{"email": {"nonsense"}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, `value="nonsense"`) {
		t.Errorf("a bad address: %d", res.status)
	}
	link := func(path string, form url.Values) string {
		t.Helper()
		res := admin.post(path, form)
		m := welcomeLink.FindStringSubmatch(res.body)
		if res.status != http.StatusOK || m == nil {
			t.Fatalf("%s gave no link: %d %s", path, res.status, res.body)
		}
		if strings.Contains(admin.get("/users").body, m[1]) {
			t.Error("a link is shown twice")
		}
		return m[1]
	}
	invitation := link("/users", url.Values{"email": {"bob@example.com"}})
	bob := k.browser()
	if res := bob.get(invitation); res.status != http.StatusOK || !strings.Contains(res.body, "bob@example.com") {
		t.Fatalf("the link: %d %s", res.status, res.body)
	}
	_, token, _ := strings.Cut(invitation, "token=")
	if res := bob.post("/welcome", url.Values{"token": {token}, "name": {"Bob"}, "password": {"short"}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, `value="Bob"`) {
		t.Errorf("a short password: %d", res.status)
	}
	if res := bob.post("/welcome", url.Values{"token": {token}, "name": {"Bob"}, "email": {"admin@example.com"}, "password": {testPassword}}); res.status != http.StatusSeeOther || res.location() != "/" {
		t.Fatalf("accepting: %d %s", res.status, res.body)
	}
	if res := bob.get("/account"); res.status != http.StatusOK || !strings.Contains(res.body, "bob@example.com") {
		t.Errorf("whoever was invited is somebody else: %d", res.status)
	}
	if res := k.browser().get(invitation); res.status != http.StatusNotFound {
		t.Errorf("a used link: %d", res.status)
	}

	u, err := k.db.People.GetUserByEmail(t.Context(), "bob@example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ = strings.Cut(link("/users/"+u.ID+"/reset", nil), "token=")
	other := k.browser()
	if res := other.post("/welcome", url.Values{"token": {token}, "password": {"another long secret"}}); res.status != http.StatusSeeOther {
		t.Fatalf("resetting: %d %s", res.status, res.body)
	}
	if res := bob.get("/account"); res.status != http.StatusSeeOther {
		t.Errorf("a session outlived the reset of its password: %d", res.status)
	}

	if res := admin.post("/users/"+u.ID+"/admin", url.Values{"on": {"1"}}); res.status != http.StatusSeeOther || other.get("/users").status != http.StatusOK {
		t.Errorf("made an admin: %d", res.status)
	}
	if res := admin.post("/users/"+u.ID+"/disabled", url.Values{"off": {"1"}}); res.status != http.StatusSeeOther || other.get("/account").status != http.StatusSeeOther {
		t.Errorf("disabled: %d", res.status)
	}
	me, err := k.db.People.GetUserByEmail(t.Context(), "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if res := admin.post("/users/"+me.ID+"/admin", url.Values{"on": {"0"}}); res.status != http.StatusConflict || !strings.Contains(res.body, `role="alert"`) {
		t.Errorf("the last admin stepped down: %d", res.status)
	}
}

func TestAccount(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	here, there := k.signedIn(ann), k.signedIn(ann)
	if res := here.post("/account/name", url.Values{"name": {"Anna <b>"}}); res.status != http.StatusSeeOther || !strings.Contains(here.get("/account").body, "Anna &lt;b&gt;") {
		t.Errorf("renaming: %d", res.status)
	}
	if res := here.post("/account/password", url.Values{"old": {"wrong"}, "new": {"another long secret"}}); res.status != http.StatusUnprocessableEntity {
		t.Errorf("with a wrong old password: %d", res.status)
	}
	before := here.cookies[strings.TrimPrefix(k.web, "http://")][sessionCookie]
	if res := here.post("/account/password", url.Values{"old": {testPassword}, "new": {"another long secret"}}); res.status != http.StatusSeeOther {
		t.Fatalf("changing the password: %d %s", res.status, res.body)
	}
	if after := here.cookies[strings.TrimPrefix(k.web, "http://")][sessionCookie]; after == before {
		t.Error("the session is the one of the old password")
	}
	if here.get("/account").status != http.StatusOK || there.get("/account").status != http.StatusSeeOther {
		t.Error("after a new password this browser is in and the other is out")
	}
	if res := here.post("/account/signout-everywhere", nil); res.status != http.StatusSeeOther || here.get("/account").status != http.StatusSeeOther {
		t.Errorf("signing out everywhere: %d", res.status)
	}
}

func TestSignInRefusals(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	b := k.browser()
	res := b.post("/signin", url.Values{"email": {ann.Email}, "password": {"wrong"}, "next": {"/keys"}})
	if res.status != http.StatusUnprocessableEntity || !strings.Contains(res.body, `value="ann@example.com"`) || !strings.Contains(res.body, `value="/keys"`) || strings.Contains(res.body, "wrong") {
		t.Errorf("a wrong password: %d %s", res.status, res.body)
	}
	if res := b.get("/signin/oidc"); res.status != http.StatusNotFound {
		t.Errorf("a provider that is not set up: %d", res.status)
	}
	k.trust(signin.OIDCOptions{Issuer: "https://login.example.com/tenant", ClientID: "x", RedirectURL: k.web + "/signin/oidc/return"})
	if body := b.get("/signin").body; !strings.Contains(body, "Sign in with login.example.com") {
		t.Error("the provider is not offered")
	}
	if res := b.get("/signin/oidc/return?code=x&state=y"); res.status != http.StatusForbidden {
		t.Errorf("back from a provider that was never asked: %d", res.status)
	}
	if res := b.do(http.MethodGet, "/agents", nil, http.Header{"Hx-Request": {"true"}}); res.status != http.StatusUnauthorized || res.header.Get("HX-Redirect") != "/signin?next=%2Fagents" {
		t.Errorf("a part of a page, signed out: %d %v", res.status, res.header)
	}
}

// TestLinksAreMailed where there is a mail server, and shown when it takes none.
func TestLinksAreMailed(t *testing.T) {
	k := newStack(t)
	server := smtptest.Start(t, smtptest.Plain)
	sender, err := mail.New(mail.Options{URL: "smtp://" + server.Host + "?tls=off", From: "bee@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	k.site.Acts.Mail, k.site.Acts.Web = sender, k.web
	admin, carl := k.signedIn(k.user("Ann", true)), k.user("Carl", false)
	for path, form := range map[string]url.Values{"/users": {"email": {"bob@example.com"}}, "/users/" + carl.ID + "/reset": nil} {
		to := "carl@example.com"
		if form != nil {
			to = form.Get("email")
		}
		res := admin.post(path, form)
		if res.status != http.StatusOK || welcomeLink.MatchString(res.body) || !strings.Contains(res.body, "mailed to "+to) {
			t.Errorf("%s: %d %s", path, res.status, res.body)
		}
		m := server.Next(t)
		link := regexp.MustCompile(regexp.QuoteMeta(k.web) + `/welcome\?token=\S+`).FindString(m.Text)
		if len(m.To) != 1 || m.To[0] != to || link == "" {
			t.Fatalf("%+v", m)
		}
		if res := k.browser().get(strings.TrimPrefix(link, k.web)); res.status != http.StatusOK || !strings.Contains(res.body, to) {
			t.Errorf("the link in the mail: %d %s", res.status, res.body)
		}
	}
	res := admin.post("/users", url.Values{"email": {"nobody@example.com"}})
	if !welcomeLink.MatchString(res.body) || !strings.Contains(res.body, "not mailed") {
		t.Errorf("a link that was not mailed: %d %s", res.status, res.body)
	}
	server.Quiet(t)
}
