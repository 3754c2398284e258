package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
)

// TestMarketplaceIsForEverybody: others find an agent where its visibility says,
// and read there how to call it.
func TestMarketplaceIsForEverybody(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	own := k.agents(ann, 4)
	visibilities := []beeos.Visibility{beeos.VisibleMarketplace, beeos.VisiblePublic, beeos.VisibleUnlisted, beeos.VisiblePrivate}
	b := k.signedIn(bob)
	if body := b.get("/marketplace").body; !strings.Contains(body, "Nobody offers an agent yet") || !strings.Contains(body, `aria-current="page"`) {
		t.Errorf("an empty marketplace: %s", body)
	}
	for i, v := range visibilities {
		if _, err := k.db.Agents.Update(t.Context(), own[i].ID, agents.Patch{Visibility: &v}); err != nil {
			t.Fatal(err)
		}
	}
	listed := func(page string, want ...int) {
		t.Helper()
		body := b.get(page).body
		for i, a := range own {
			has, should := strings.Contains(body, `data-offer="`+a.ID+`"`), false
			for _, w := range want {
				should = should || w == i
			}
			if has != should {
				t.Errorf("%s lists the %s one: %v", page, visibilities[i], has)
			}
		}
	}
	listed("/marketplace", 0)
	listed("/marketplace?q="+own[0].Name, 0)
	listed("/marketplace?owner="+ann.ID, 0, 1)
	listed("/marketplace?after=" + own[0].ID)
	if body := b.get("/marketplace?q=%3Cb%3Enothing").body; !strings.Contains(body, "“&lt;b&gt;nothing”") || !strings.Contains(body, "Show all agents") {
		t.Errorf("a search without an answer: %s", body)
	}
	for i, a := range own {
		res, want := b.get("/marketplace/"+a.ID), http.StatusOK
		if visibilities[i] == beeos.VisiblePrivate {
			want = http.StatusNotFound
		}
		if res.status != want {
			t.Errorf("the page of the %s one: %d", visibilities[i], res.status)
		}
		if want == http.StatusOK && (!strings.Contains(res.body, "By <a") || !strings.Contains(res.body, "Authorization: Bearer oag_") || !strings.Contains(res.body, "beeos call "+a.ID) || strings.Contains(res.body, ann.Email)) {
			t.Errorf("the page of the %s one: %s", visibilities[i], res.body)
		}
	}
	if body := k.signedIn(ann).get("/marketplace/" + own[0].ID).body; !strings.Contains(body, "Yours, as others see it") {
		t.Errorf("one's own: %s", body)
	}
	if err := k.db.People.Lock(t.Context(), ann.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	listed("/marketplace")
	if res := b.get("/marketplace/" + own[0].ID); res.status != http.StatusNotFound {
		t.Errorf("an agent of somebody who is locked out: %d", res.status)
	}
}
