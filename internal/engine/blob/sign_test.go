package blob

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

var (
	noon   = time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	signer = &Signer{Key: NewKey(), Base: "https://files.example.com/"}
	upload = Grant{Method: http.MethodPut, FileID: "file_1", ContentType: "text/plain; charset=utf-8", MaxBytes: 10, Expires: noon}
)

// parts takes a link apart.
func parts(t *testing.T, link string) (id string, q url.Values) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/files/"), u.Query()
}

func TestLinkCarriesItsGrant(t *testing.T) {
	download := Grant{Method: http.MethodGet, FileID: "file_1", Expires: noon}
	for _, tt := range []struct {
		method string
		want   Grant
	}{{http.MethodPut, upload}, {http.MethodGet, download}, {http.MethodHead, download}} {
		link := signer.Link(tt.want)
		if !strings.HasPrefix(link, "https://files.example.com/files/file_1?") {
			t.Errorf("link %s", link)
		}
		id, q := parts(t, link)
		got, err := signer.Check(tt.method, id, q.Encode(), noon.Add(-time.Second))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tt.method, err, diff)
		}
	}
	one, other := signer.Link(upload), signer.Link(upload)
	if one == other {
		t.Error("two links are the same")
	}
}

// TestLinkIsWorthlessWhenChanged: everything that a link says is signed.
func TestLinkIsWorthlessWhenChanged(t *testing.T) {
	id, signed := parts(t, signer.Link(upload))
	set := func(name, value string) func(url.Values) { return func(q url.Values) { q.Set(name, value) } }
	for _, tt := range []struct {
		name   string
		signer *Signer
		method string
		id     string
		change func(url.Values)
		now    time.Time
	}{
		{name: "method GET", method: http.MethodGet},
		{name: "method HEAD", method: http.MethodHead},
		{name: "method POST", method: http.MethodPost},
		{name: "file id", id: "file_2"},
		{name: "content type", change: set(paramContentType, "text/html")},
		{name: "no content type", change: func(q url.Values) { q.Del(paramContentType) }},
		{name: "size", change: set(paramMaxBytes, "11")},
		{name: "expiry", change: set(paramExpires, "9999999999")},
		{name: "nonce", change: set(paramNonce, "x")},
		{name: "owner", change: set("owner", "user:me")},
		{name: "version", change: set(paramVersion, "2")},
		{name: "no version", change: func(q url.Values) { q.Del(paramVersion) }},
		{name: "signature", change: set(paramSignature, base64.RawURLEncoding.EncodeToString(make([]byte, 32)))},
		{name: "short signature", change: func(q url.Values) { q.Set(paramSignature, q.Get(paramSignature)[:22]) }},
		{name: "no signature", change: func(q url.Values) { q.Del(paramSignature) }},
		{name: "two sizes", change: func(q url.Values) { q.Add(paramMaxBytes, "9") }},
		{name: "host", signer: &Signer{Key: signer.Key, Base: "https://other.example.com"}},
		{name: "key", signer: &Signer{Key: NewKey(), Base: signer.Base}},
		{name: "now", now: noon},
		{name: "a second ago", now: noon.Add(time.Second)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, q := parts(t, "?"+signed.Encode())
			if tt.change != nil {
				tt.change(q)
			}
			if tt.signer == nil {
				tt.signer = signer
			}
			if tt.method == "" {
				tt.method = http.MethodPut
			}
			if tt.id == "" {
				tt.id = id
			}
			if tt.now.IsZero() {
				tt.now = noon.Add(-time.Minute)
			}
			if g, err := tt.signer.Check(tt.method, tt.id, q.Encode(), tt.now); beeos.CodeOf(err) != beeos.Forbidden {
				t.Errorf("%+v, %v; want forbidden", g, err)
			}
		})
	}
	if _, err := signer.Check(http.MethodPut, id, signed.Encode()+"&%zz", noon.Add(-time.Minute)); beeos.CodeOf(err) != beeos.Forbidden {
		t.Errorf("a broken query: %v", err)
	}
	if _, err := signer.Check(http.MethodPut, id, signed.Encode(), noon.Add(-time.Minute)); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}
