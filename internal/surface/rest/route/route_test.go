package route

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"github.com/beeos/beeos"
)

func TestRoutesRefuseKindsOfCallersTheyDoNotKnow(t *testing.T) {
	for _, c := range []struct {
		kind beeos.CredentialKind
		in   []Permission
	}{
		{beeos.ByUserKey, []Permission{UsersOnly, AnyKey}},
		{beeos.ByAgentKey, []Permission{AnyKey}},
		{beeos.ByOAuth, nil},
		{"new", nil},
	} {
		for _, p := range []Permission{UsersOnly, AnyKey} {
			err := p.check(beeos.Caller{Kind: c.kind, UserID: "u"})
			if slices.Contains(c.in, p) != (err == nil) || err != nil && beeos.CodeOf(err) != beeos.Unauthorized {
				t.Errorf("%s on a route of kind %d: %v", c.kind, p, err)
			}
		}
	}
}

func TestPageSaysWhereTheNextBegins(t *testing.T) {
	number := func(n *int) string { return strconv.Itoa(*n) }
	for _, c := range []struct {
		rows  []int
		views []string
		next  string
	}{
		{nil, []string{}, ""},
		{[]int{3, 2}, []string{"3", "2"}, ""},
		{[]int{3, 2, 1}, []string{"3", "2"}, "2"},
	} {
		views, next := CutPage(Page{Limit: 2}, c.rows, number, number)
		if views == nil || !slices.Equal(views, c.views) || next != c.next {
			t.Errorf("%v: %v, next %q", c.rows, views, next)
		}
	}
}

func TestAnswersHaveTheirStatus(t *testing.T) {
	for _, c := range []struct {
		answer any
		status int
		body   string
	}{
		{"x", 200, `{"success":true,"data":"x"}`},
		{Created("x"), 201, `{"success":true,"data":"x"}`},
		{Accepted("x"), 202, `{"success":true,"data":"x"}`},
		{NoContent, 204, ""},
		{ListOf([]int{1}, 7), 200, `{"success":true,"data":[1],"total":7}`},
		{Writer(func(w http.ResponseWriter) error { w.WriteHeader(http.StatusTeapot); return nil }), 418, ""},
	} {
		w := httptest.NewRecorder()
		if err := writeAnswer(w, c.answer); err != nil || w.Code != c.status || w.Body.String() != c.body && w.Body.String() != c.body+"\n" {
			t.Errorf("%v: %d %s, %v", c.answer, w.Code, w.Body, err)
		}
	}
}
