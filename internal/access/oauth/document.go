package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

const (
	documentMost    = 5 << 10
	documentWithin  = 5 * time.Second
	documentLeast   = time.Minute // how long one is kept, whatever it says
	documentLongest = 24 * time.Hour
	documentDefault = 5 * time.Minute
	failureKept     = 30 * time.Second
	documentsMost   = 1000 // that are kept
	fetchesMost     = 30   // a minute for one address
)

// documents are clients that name themselves by the address of a document
// about them. To fetch it is the one request that this server makes on a
// stranger's behalf, so it goes to public addresses alone, follows nothing and
// ends soon.
type documents struct {
	http    *http.Client
	private bool
	now     func() time.Time
	limit   auth.Limiter
	fetches singleflight.Group

	mu   sync.Mutex
	kept map[string]kept
}

// kept is what was learned about an address, be it that it is no good.
type kept struct {
	client client
	err    error
	until  time.Time
}

func newDocuments(opt Options) *documents {
	d := &documents{
		http: opt.Client, private: opt.AllowPrivate, now: opt.Now,
		limit: auth.Limiter{Most: fetchesMost, Per: time.Minute, Now: opt.Now},
		kept:  map[string]kept{},
	}
	if d.http == nil {
		d.http = outbound.Client(reach(opt.AllowPrivate))
	}
	return d
}

// reach is where documents may be, and how large.
func reach(private bool) outbound.Options {
	return outbound.Options{AllowPrivate: private, Ports: []uint16{80, 443}, Timeout: documentWithin, MaxBody: documentMost}
}

// client returns the client of that address, which somebody at from asks for.
func (d *documents) client(ctx context.Context, id, from string) (client, error) {
	if err := d.checkID(id); err != nil {
		return client{}, err
	}
	if k, ok := d.lookup(id); ok {
		return k.client, k.err
	}
	if err := d.limit.Take(from); err != nil {
		return client{}, err
	}
	got, _, _ := d.fetches.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), documentWithin)
		defer cancel()
		c, keep, err := d.fetch(ctx, id)
		if err != nil {
			keep = failureKept
		}
		k := kept{c, err, d.now().Add(keep)}
		d.keep(id, k)
		return k, nil
	})
	k := got.(kept)
	return k.client, k.err
}

// checkID refuses addresses that need not be tried.
func (d *documents) checkID(id string) error {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > redirectLongest || strings.ContainsFunc(id, unsafeInURI) || u.User != nil || strings.Contains(id, "#") || u.Hostname() == "" || !plainHost(u) || !goodPort(u):
	case u.Path == "" || u.Path == "/" || strings.Contains(u.Path, "/./") || strings.Contains(u.Path, "/../") || strings.HasSuffix(u.Path, "/..") || strings.HasSuffix(u.Path, "/."):
	case strings.HasPrefix(id, "https://") || d.private && strings.HasPrefix(id, "http://") && loopback(u):
		return nil
	}
	return refusal("invalid_client", "its client_id is neither one that was registered here nor the https address of a document about it")
}

func (d *documents) lookup(id string) (kept, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.kept[id]
	return k, ok && d.now().Before(k.until)
}

func (d *documents) keep(id string, k kept) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for other, old := range d.kept {
		if len(d.kept) < documentsMost {
			break
		}
		if !d.now().Before(old.until) || len(d.kept) >= documentsMost {
			delete(d.kept, other)
		}
	}
	d.kept[id] = k
}

// fetch reads a document and says how long to keep it. Its errors are the same
// whatever went wrong on the way: who asks must not learn what is reachable
// from here.
func (d *documents) fetch(ctx context.Context, id string) (client, time.Duration, error) {
	unreachable := refusal("invalid_client", "the document at its client_id could not be read")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return client{}, 0, unreachable
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("User-Agent", "BeeOS/"+beeos.Version)
	resp, err := d.http.Do(r)
	if err != nil {
		return client{}, 0, unreachable
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "" || !jsonType(resp.Header.Get("Content-Type")) {
		return client{}, 0, unreachable
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return client{}, 0, unreachable
	}
	c, err := parseDocument(id, body)
	return c, freshFor(resp.Header), err
}

func jsonType(header string) bool {
	media, _, err := mime.ParseMediaType(header)
	return err == nil && (media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

// parseDocument reads a client id metadata document. One that asks for client
// authentication is served as the public client that every client is here: it
// is bound by its redirect URIs and by PKCE.
func parseDocument(id string, body []byte) (client, error) {
	var doc struct {
		ID        string   `json:"client_id"`
		Name      string   `json:"client_name"`
		Redirects []string `json:"redirect_uris"`
		Auth      string   `json:"token_endpoint_auth_method"`
		Secret    string   `json:"client_secret"`
	}
	if err := errors.Join(strictjson.Check(body), json.Unmarshal(body, &doc)); err != nil {
		return client{}, refusal("invalid_client", "the document at its client_id is no JSON object")
	}
	switch {
	case doc.ID != id:
		return client{}, refusal("invalid_client", "the document at its client_id has another client_id")
	case doc.Name == "":
		return client{}, refusal("invalid_client", "the document at its client_id has no client_name")
	case doc.Secret != "" || strings.HasPrefix(doc.Auth, "client_secret"):
		return client{}, refusal("invalid_client", "the document at its client_id shares a secret with everybody")
	}
	if err := checkRedirects(doc.Redirects); err != nil {
		return client{}, refusal("invalid_client", "the document at its client_id has no usable redirect_uris")
	}
	return client{id: id, name: cleanName(doc.Name, doc.Redirects[0]), redirects: doc.Redirects}, nil
}

// freshFor is how long the headers let an answer be kept, within our bounds.
func freshFor(h http.Header) time.Duration {
	keep := documentDefault
	for part := range strings.SplitSeq(strings.ToLower(h.Get("Cache-Control")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "no-store", "no-cache":
			return documentLeast
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				keep = time.Duration(seconds) * time.Second
			}
		}
	}
	return min(max(keep, documentLeast), documentLongest)
}
