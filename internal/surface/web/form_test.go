package web

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFormsTakeOnlyText: a zero byte or broken UTF-8 in any form is refused with
// a page that says so, before anything is asked of a database that may not keep
// it.
func TestFormsTakeOnlyText(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", true)
	a := k.agents(ann, 1)[0]
	b := k.signedIn(ann)
	for path, field := range map[string]string{
		"/agents": "name", "/agents/" + a.ID + "/settings": "title", "/agents/" + a.ID + "/keys": "name", "/agents/" + a.ID + "/approvals": "tool",
		"/agents/" + a.ID + "/chat": "message", "/approvals/x/reject": "reason", "/approve": "token", "/apps/x/narrow": "agent", "/keys": "name",
		"/account/name": "name", "/account/password": "current", "/users": "email", "/signin": "email", "/welcome": "token", "/theme": "theme",
	} {
		for name, bad := range map[string]string{"a zero byte": "a\x00b", "broken UTF-8": "a\xffb"} {
			for _, form := range []url.Values{{field: {bad}}, {bad: {"x"}}} {
				res := b.post(path, form)
				if res.status != http.StatusBadRequest || !strings.Contains(res.body, "zero byte or broken UTF-8") || !strings.Contains(res.body, "<h1>") {
					t.Errorf("%s, %s: %d %s", path, name, res.status, res.body)
				}
			}
		}
	}
	if got, err := k.db.People.GetUser(t.Context(), ann.ID); err != nil || got.Name != "Ann" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestUploadsTakeOnlyText is the same for forms that carry files.
func TestUploadsTakeOnlyText(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	b := k.signedIn(ann)
	for name, form := range map[string]struct{ message, file string }{"in the message": {"a\x00b", "a.txt"}, "in the name of a file": {"hello", "a\xffb.txt"}} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		w.WriteField("key", "k")              //nolint:errcheck // a buffer takes all
		w.WriteField("message", form.message) //nolint:errcheck // as above
		file, err := w.CreateFormFile("file", form.file)
		if err != nil {
			t.Fatal(err)
		}
		file.Write([]byte("x")) //nolint:errcheck // as above
		w.Close()               //nolint:errcheck // as above
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.web+"/agents/"+a.ID+"/chat", &body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", w.FormDataContentType())
		for cookie, value := range b.cookies[req.URL.Host] {
			req.AddCookie(&http.Cookie{Name: cookie, Value: value})
		}
		res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d to %s", name, res.StatusCode, res.Header.Get("Location"))
		}
	}
}
