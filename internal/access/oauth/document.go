package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/grants"
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
	cache   auth.Cache[fetched]
}

// fetched is what was learned about an address, be it that it is no good.
type fetched struct {
	client grants.Client
	err    error
}

func newDocuments(opt Options) *documents {
	d := &documents{
		http: opt.Client, private: opt.AllowPrivate, now: opt.Now,
		limit: auth.Limiter{Most: fetchesMost, Per: time.Minute, Now: opt.Now},
		cache: auth.Cache[fetched]{Most: documentsMost},
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

// findClient returns the client of that address, which somebody at from asks
// for.
func (d *documents) findClient(ctx context.Context, id, from string) (grants.Client, error) {
	if err := d.checkID(id); err != nil {
		return grants.Client{}, err
	}
	hash := sha256.Sum256([]byte(id))
	known, ok, generation := d.cache.Get(hash, d.now())
	if ok {
		return known.client, known.err
	}
	if err := d.limit.Take(from); err != nil {
		return grants.Client{}, err
	}
	got, _, _ := d.fetches.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), documentWithin)
		defer cancel()
		c, keep, err := d.fetch(ctx, id)
		if err != nil {
			keep = failureKept
		}
		now := d.now()
		d.cache.Put(hash, fetched{c, err}, now, now.Add(keep), generation)
		return fetched{c, err}, nil
	})
	known = got.(fetched)
	return known.client, known.err
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

// fetch reads a document and says how long to keep it. Its errors are the same
// whatever went wrong on the way: who asks must not learn what is reachable
// from here.
func (d *documents) fetch(ctx context.Context, id string) (grants.Client, time.Duration, error) {
	unreachable := refusal("invalid_client", "the document at its client_id could not be read")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return grants.Client{}, 0, unreachable
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("User-Agent", "BeeOS/"+beeos.Version)
	resp, err := d.http.Do(r)
	if err != nil {
		return grants.Client{}, 0, unreachable
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "" || !jsonType(resp.Header.Get("Content-Type")) {
		return grants.Client{}, 0, unreachable
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return grants.Client{}, 0, unreachable
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
func parseDocument(id string, body []byte) (grants.Client, error) {
	var doc struct {
		ID        string   `json:"client_id"`
		Name      string   `json:"client_name"`
		Redirects []string `json:"redirect_uris"`
		Auth      string   `json:"token_endpoint_auth_method"`
		Secret    string   `json:"client_secret"`
	}
	if err := errors.Join(strictjson.Check(body), json.Unmarshal(body, &doc)); err != nil {
		return grants.Client{}, refusal("invalid_client", "the document at its client_id is no JSON object")
	}
	switch {
	case doc.ID != id:
		return grants.Client{}, refusal("invalid_client", "the document at its client_id has another client_id")
	case doc.Name == "":
		return grants.Client{}, refusal("invalid_client", "the document at its client_id has no client_name")
	case doc.Secret != "" || strings.HasPrefix(doc.Auth, "client_secret"):
		return grants.Client{}, refusal("invalid_client", "the document at its client_id shares a secret with everybody")
	}
	if err := checkRedirects(doc.Redirects); err != nil {
		return grants.Client{}, refusal("invalid_client", "the document at its client_id has no usable redirect_uris")
	}
	return grants.Client{ID: id, Name: cleanName(doc.Name, doc.Redirects[0]), RedirectURIs: doc.Redirects}, nil
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
