package web

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestChannelsAreOnesOwn: a person sets up a webhook, sees its secret once, tries it
// and deletes it; to somebody else it does not exist.
func TestChannelsAreOnesOwn(t *testing.T) {
	k := newStack(t)
	came := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { came <- r.Header.Get("X-BeeOS-Event") }))
	t.Cleanup(hook.Close)
	ann, bob := k.signedIn(k.user("Ann", false)), k.signedIn(k.user("Bob", true))
	const path = "/approvals/channels"
	made := ann.post(path, url.Values{"kind": {"webhook"}, "url": {hook.URL + "/in?key=private"}})
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{32}`).FindString(html.UnescapeString(made.body))
	id := regexp.MustCompile(`data-channel="(nch_[^"]+)"`).FindStringSubmatch(made.body)
	if made.status != http.StatusOK || secret == "" || id == nil || strings.Contains(made.body, "private") {
		t.Fatalf("%d %s", made.status, made.body)
	}
	if again := ann.get(path); strings.Contains(html.UnescapeString(again.body), secret) || !strings.Contains(again.body, hook.URL+"/in") {
		t.Errorf("%s", again.body)
	}
	if theirs := bob.get(path); strings.Contains(theirs.body, id[1]) {
		t.Error("an admin sees somebody else's channel")
	}
	for _, form := range []string{"/test", "/delete", "/deliveries/nd_1"} {
		mine, none := bob.post(path+"/"+id[1]+form, nil), bob.post(path+"/nch_none"+form, nil)
		if mine.status != none.status || mine.status == http.StatusSeeOther {
			t.Errorf("%s: somebody else's answers %d, none %d", form, mine.status, none.status)
		}
		if res := ann.get(path + "/" + id[1] + form); res.status != http.StatusSeeOther || res.location() != path {
			t.Errorf("%s opened again: %d to %s", form, res.status, res.location())
		}
	}
	if res := ann.post(path+"/"+id[1]+"/test", nil); res.status != http.StatusSeeOther {
		t.Fatalf("%d %s", res.status, res.body)
	}
	if event := <-came; event != "channel.test" {
		t.Errorf("told %s", event)
	}
	if res := ann.post(path, url.Values{"kind": {"email"}}); res.status != http.StatusBadRequest && res.status != http.StatusUnprocessableEntity {
		t.Errorf("e-mail without a mail server: %d", res.status)
	}
	if res := ann.post(path+"/"+id[1]+"/delete", nil); res.status != http.StatusSeeOther || strings.Contains(ann.get(path).body, id[1]) {
		t.Errorf("%d %s", res.status, res.body)
	}
}
