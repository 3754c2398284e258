package oauth

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/test/dnstest"
)

// site is where a client's document is, as the guarded client sees it.
type site struct {
	*httptest.Server
	hits   atomic.Int64
	header http.Header
	answer func(w http.ResponseWriter, id string)
}

func newSite(t *testing.T) *site {
	s := &site{header: http.Header{"Content-Type": {"application/json"}}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		for name, values := range s.header {
			w.Header()[name] = values
		}
		id := s.URL + r.URL.Path
		if s.answer != nil {
			s.answer(w, id)
			return
		}
		fmt.Fprint(w, document(id))
	}))
	t.Cleanup(s.Close)
	return s
}

func document(id string) string {
	return `{"client_id":"` + id + `","client_name":"Code","redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"],"logo_uri":"https://evil.example/track.png"}`
}

// fetcher is the real client, trusting the site's certificate and this
// machine.
func (s *site) fetcher() *http.Client {
	o := reach(true)
	o.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
	return outbound.Client(o)
}

func TestDocumentWithLoopbackRedirect(t *testing.T) {
	s := newSite(t)
	r := newRigWith(t, Options{Client: s.fetcher()})
	r.client = s.URL + "/client.json"
	q := r.query("redirect_uri", "http://localhost:51212/callback")
	tx, _ := r.begin(q)
	a, err := r.s.Ask(context.Background(), tx)
	r.must(err)
	u, err := url.Parse(s.URL)
	r.must(err)
	if want := (Client{ID: r.client, Name: "Code", Host: u.Host, Loopback: true, Registered: Document}); a.Client != want {
		t.Errorf("%+v", a.Client)
	}
	access, _ := r.tokens(q, "a")
	if !r.good(access, r.endpoint("a")) {
		t.Error("its token is not good")
	}
	if !r.refused(r.query("redirect_uri", "http://localhost:51212/other")) {
		t.Error("another path")
	}
	if n := s.hits.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

// TestNothingLeavesForPrivateAddresses: addresses that are not public are refused before a
// packet leaves; the hook sees what the guard let through.
func TestNothingLeavesForPrivateAddresses(t *testing.T) {
	var let, asked atomic.Int64
	o := reach(false)
	o.Dialing = func(string) error {
		let.Add(1)
		return errors.New("the test lets nothing out")
	}
	client := outbound.Client(o)
	client.Transport = counted{client.Transport, &asked}
	r := newRigWith(t, Options{Client: client})
	for _, id := range []string{
		"https://169.254.169.254/x", "https://127.0.0.1/x", "https://localhost/x", "https://[::1]/x", "https://[::ffff:10.0.0.1]/x", "https://[64:ff9b::a9fe:a9fe]/x",
		"https://10.0.0.1/x", "https://192.168.1.1/x", "https://100.64.0.1/x", "https://0.0.0.0/x", "https://[fd00:ec2::254]/x", "https://[fe80::1]/x", "https://[2002:7f00:1::]/x",
		"https://2130706433/x", "https://0x7f.1/x", "https://127.1/x", "https://93.184.216.34:22/x", "https://93.184.216.34:8443/x",
	} {
		if !r.refused(r.query("client_id", id)) {
			t.Errorf("%s was not refused", id)
		}
	}
	if let.Load() != 0 || asked.Load() == 0 {
		t.Errorf("%d of %d requests left", let.Load(), asked.Load())
	}
	before := asked.Load()
	for _, id := range []string{
		"http://app.example/x", "http://127.0.0.1/x", "https://app.example", "https://app.example/", "file:///etc/passwd", "https://user@app.example/x", "https://app.example/x#y",
		"https://app.example/a/../x", "https://app.example/a/./x", "https:///x", "https://app.example\\x", "gopher://app.example/x", "app", "https://app.example/" + strings.Repeat("x", 3000),
	} {
		if !r.refused(r.query("client_id", id)) {
			t.Errorf("%s was not refused", id)
		}
	}
	if r.s.documents.checkID("https://%D0%B0pp.example/x") == nil {
		t.Error("an address that looks like another one was not refused")
	}
	if asked.Load() != before {
		t.Error("an address that cannot be one was asked for")
	}
	if !r.refused(r.query("client_id", "https://93.184.216.34/x")) || let.Load() != 1 {
		t.Error("the hook does not see what leaves")
	}
}

// counted counts the requests that come to a transport.
type counted struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// TestRebindingMeetsAClosedDoor: a name that is public at first and private
// later is looked at where it counts, at each dial.
func TestRebindingMeetsAClosedDoor(t *testing.T) {
	var at atomic.Value // the name server reads it meanwhile
	at.Store("93.184.216.34")
	var mu sync.Mutex
	var let []string
	o := reach(false)
	o.Resolver = dnstest.Resolver(t, func() []string { return []string{at.Load().(string)} })
	o.Dialing = func(address string) error {
		mu.Lock()
		defer mu.Unlock()
		let = append(let, address)
		return errors.New("the test lets nothing out")
	}
	r := newRigWith(t, Options{Client: outbound.Client(o)})
	for _, address := range []string{"93.184.216.34", "10.0.0.1", "168.63.129.16"} {
		at.Store(address)
		if !r.refused(r.query("client_id", "https://rebind.example/x")) {
			t.Error("not refused")
		}
		r.pass(failureKept + time.Second)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(let) != 1 || let[0] != "93.184.216.34:443" {
		t.Errorf("%v left", let)
	}
}

func TestBadDocuments(t *testing.T) {
	inner := newSite(t)
	zipped := func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, document(id))
		z.Close()
	}
	raw := func(format string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) { fmt.Fprint(w, strings.ReplaceAll(format, "ID", id)) }
	}
	for name, answer := range map[string]func(http.ResponseWriter, string){
		"redirect": func(w http.ResponseWriter, id string) {
			w.Header().Set("Location", inner.URL+"/x")
			w.WriteHeader(http.StatusFound)
		},
		"6 KiB":          func(w http.ResponseWriter, id string) { fmt.Fprint(w, document(id)+strings.Repeat(" ", 6<<10)) },
		"gzip":           zipped,
		"trailing slash": func(w http.ResponseWriter, id string) { fmt.Fprint(w, document(id+"/")) },
		"another host": func(w http.ResponseWriter, id string) {
			fmt.Fprint(w, document(strings.Replace(id, "127.0.0.1", "localhost", 1)))
		},
		"no id": raw(`{"client_name":"x","redirect_uris":["https://a.example/b"]}`),
		"HTML": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, document(id))
		},
		"no name":                  raw(`{"client_id":"ID","redirect_uris":["https://a.example/b"]}`),
		"no redirects":             raw(`{"client_id":"ID","client_name":"x"}`),
		"a bad redirect":           raw(`{"client_id":"ID","client_name":"x","redirect_uris":["http://a.example/b"]}`),
		"a shared secret":          raw(`{"client_id":"ID","client_name":"x","redirect_uris":["http://localhost/callback"],"client_secret":"x"}`),
		"secret authentication":    raw(`{"client_id":"ID","client_name":"x","redirect_uris":["http://localhost/callback"],"token_endpoint_auth_method":"client_secret_basic"}`),
		"two ids":                  raw(`{"client_id":"ID","client_id":"ID","client_name":"x","redirect_uris":["http://localhost/callback"]}`),
		"not JSON":                 raw(`hello`),
		"a list":                   raw(`[]`),
		"an error with a document": func(w http.ResponseWriter, id string) { w.WriteHeader(404); fmt.Fprint(w, document(id)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.answer = answer
			r := newRigWith(t, Options{Client: s.fetcher()})
			if !r.refused(r.query("client_id", s.URL+"/client.json", "redirect_uri", "http://localhost:1/callback")) {
				t.Error("not refused")
			}
			if s.hits.Load() != 1 {
				t.Error("not even fetched")
			}
		})
	}
	if inner.hits.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestDrip: a document that comes byte by byte ends with the time that one
// has. The clock is real; the limit is made short.
func TestDrip(t *testing.T) {
	s := newSite(t)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	s.answer = func(w http.ResponseWriter, id string) {
		fmt.Fprint(w, "{")
		w.(http.Flusher).Flush()
		<-stop
	}
	c := s.fetcher()
	if c.Timeout != documentWithin || documentWithin > 5*time.Second {
		t.Errorf("a document may take %v", c.Timeout)
	}
	c.Timeout = 50 * time.Millisecond
	r := newRigWith(t, Options{Client: c})
	if !r.refused(r.query("client_id", s.URL+"/client.json")) {
		t.Error("not refused")
	}
}

func TestDocumentsAreKept(t *testing.T) {
	for control, keep := range map[string]time.Duration{
		"": documentDefault, "max-age=600": 10 * time.Minute, "max-age=5": time.Minute, "no-store": time.Minute, "public, Max-Age=99999999": 24 * time.Hour, "max-age=x": documentDefault,
	} {
		s := newSite(t)
		s.header.Set("Cache-Control", control)
		r := newRigWith(t, Options{Client: s.fetcher()})
		r.client = s.URL + "/client.json"
		ask := func() int64 {
			r.begin(r.query("redirect_uri", "http://localhost:51212/callback"))
			return s.hits.Load()
		}
		ask()
		r.pass(keep - time.Second)
		if n := ask(); n != 1 {
			t.Errorf("%q: fetched again before %v", control, keep)
		}
		r.pass(time.Second)
		if n := ask(); n != 2 {
			t.Errorf("%q: still kept after %v", control, keep)
		}
	}
	s := newSite(t)
	s.answer = func(w http.ResponseWriter, id string) { w.WriteHeader(http.StatusInternalServerError) }
	r := newRigWith(t, Options{Client: s.fetcher()})
	for range 5 {
		r.refused(r.query("client_id", s.URL+"/client.json"))
	}
	r.pass(failureKept)
	r.refused(r.query("client_id", s.URL+"/client.json"))
	if n := s.hits.Load(); n != 2 {
		t.Errorf("a failure was looked up %d times", n)
	}
}

func TestDocumentFloods(t *testing.T) {
	s := newSite(t)
	r := newRigWith(t, Options{Client: s.fetcher()})
	flooded := 0
	for i := range 1000 {
		w := get(r.s, "/oauth/authorize?"+r.query("client_id", fmt.Sprintf("%s/%d", s.URL, i)).Encode())
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "" {
			flooded++
		}
	}
	if flooded != 1000-fetchesMost || s.hits.Load() != fetchesMost {
		t.Errorf("%d refused, %d fetched", flooded, s.hits.Load())
	}
}

// TestLogosAreNotFetched: a document's other addresses are not looked at,
// nor shown.
func TestLogosAreNotFetched(t *testing.T) {
	s := newSite(t)
	s.answer = func(w http.ResponseWriter, id string) {
		fmt.Fprint(w, strings.Replace(document(id), "https://evil.example/track.png", s.URL+"/logo.png", 1))
	}
	r := newRigWith(t, Options{Client: s.fetcher()})
	r.client = s.URL + "/client.json"
	tx, _ := r.begin(r.query("redirect_uri", "http://localhost:51212/callback"))
	a, err := r.s.Ask(context.Background(), tx)
	r.must(err)
	if strings.Contains(fmt.Sprintf("%+v", a), "logo") || s.hits.Load() != 1 {
		t.Errorf("%+v, %d fetches", a, s.hits.Load())
	}
}

func TestAddress(t *testing.T) {
	for peer, want := range map[string]string{
		"203.0.113.7:1": "203.0.113.7", "[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "[::ffff:203.0.113.7]:1": "203.0.113.7",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		if got := address(r); got != want {
			t.Errorf("%s: %s", peer, got)
		}
	}
}

// TestPrivateDocuments: the setting for development opens this computer and
// private networks, and no more.
func TestPrivateDocuments(t *testing.T) {
	for address, fine := range map[string]bool{
		"127.0.0.1:1234": true, "10.0.0.1:80": true, "[::1]:9": true, "169.254.169.254:80": false, "[fe80::1]:80": false, "0.0.0.0:80": false, "[fd00:ec2::254]:80": false,
	} {
		if err := outbound.CheckURL(t.Context(), "http://"+address+"/x", reach(true)); (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, document("http://"+r.Host+r.URL.Path))
	}))
	defer plain.Close()
	r := newRigWith(t, Options{AllowPrivate: true})
	r.client = plain.URL + "/client.json"
	r.begin(r.query("redirect_uri", "http://localhost:51212/callback"))
	r = newRig(t)
	if !r.refused(r.query("client_id", plain.URL+"/client.json")) {
		t.Error("without the setting")
	}
}
