// Package oauth is the authorization server, and the only code that mints
// tokens: OAuth 2.1 with PKCE for MCP clients, all of them public, and the
// user tokens of the REST surface.
//
// A client learns where everything is (metadata.go), names itself by
// registering (register.go) or by a document at an address of its own
// (document.go; client.go and redirect.go say what either may look like), and
// sends a person here (authorize.go). The console asks that person (consent.go)
// and sends the browser back (back.go), whereupon the client gets a code and
// changes it into tokens (token.go, refresh.go, revoke.go). What was granted
// stays in view of its person (grants.go). limit.go slows floods down, page.go
// and answer.go are what comes out.
//
// Tokens are JWTs (jwt.go) signed with keys that the store keeps (keys.go).
// check.go and cache.go answer what one is good for; login.go issues those of
// people. Replicas share nothing but the database: any of them can go on with
// what another began.
package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
)

// Options are the parts that a Server stands on.
type Options struct {
	DB       *store.DB
	Issuer   string       // MCP_PUBLIC_URL; every URL that leaves here begins with it
	LoginURL string       // the console
	Client   *http.Client // fetches client id metadata documents; nil = a guarded one
	Log      *slog.Logger
	Now      func() time.Time

	// AllowPrivate lets documents come from this machine and from private
	// networks, over plain http too where the host is loopback.
	AllowPrivate bool

	// Tell brings an id to the Forget of every replica: a grant, a token
	// family or a user about which something has changed.
	Tell func(kind, id string)
}

// Server is the authorization server.
type Server struct {
	opt       Options
	db        *store.DB
	issuer    string
	chain     []byte // makes each refresh token out of the one before
	keys      keyring
	rotations *store.Rotations
	documents *documents
	registers auth.Limiter
	begins    auth.Limiter
	tokens    cache

	mu   sync.Mutex
	used map[string]time.Time // grants, since the last flush
}

const (
	txFor        = 10 * time.Minute
	codeFor      = 120 * time.Second
	accessFor    = 60 * time.Minute
	refreshFor   = 30 * 24 * time.Hour // without use
	refreshGrace = 10 * time.Second    // for an answer that got lost
	bodyMost     = 16 << 10
)

// New returns a Server. Its first signing key is made when there is none.
func New(ctx context.Context, opt Options) (*Server, error) {
	if opt.DB == nil || opt.Issuer == "" {
		return nil, errors.New("oauth: DB and Issuer are required")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Tell == nil {
		opt.Tell = func(string, string) {}
	}
	opt.LoginURL = strings.TrimRight(opt.LoginURL, "/")
	chain, err := opt.DB.Secret(ctx, "oauth refresh", func() []byte { return []byte(beeos.NewSecret("")) })
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: opt, db: opt.DB, issuer: strings.TrimRight(opt.Issuer, "/"), chain: chain,
		rotations: store.NewRotations(opt.DB),
		documents: newDocuments(opt),
		registers: auth.Limiter{Most: registerMost, Per: time.Minute, Now: opt.Now},
		begins:    auth.Limiter{Most: beginsMost, Per: time.Minute, Now: opt.Now},
		tokens:    cache{entries: map[tokenHash]*entry{}},
		used:      map[string]time.Time{},
	}
	if err := s.keys.open(ctx, s.db, opt.Now); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP is everything below /.well-known/ and /oauth/. Whoever mounts it
// answers browsers' questions about origins first.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", "GET, POST, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	switch r.URL.Path {
	case "/oauth/authorize":
		only(http.MethodGet, w, r, s.authorize)
	case "/oauth/return":
		only(http.MethodGet, w, r, s.back)
	case "/oauth/register":
		only(http.MethodPost, w, r, s.register)
	case "/oauth/token":
		only(http.MethodPost, w, r, s.token)
	case "/oauth/revoke":
		only(http.MethodPost, w, r, s.revoke)
	case jwksPath:
		only(http.MethodGet, w, r, s.jwks)
	default:
		only(http.MethodGet, w, r, s.metadata)
	}
}

func only(method string, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
		w.Header().Set("Allow", method+", OPTIONS")
		fail(w, r, http.StatusMethodNotAllowed, "invalid_request", "use "+method)
		return
	}
	next(w, r)
}

const (
	flushEvery  = 10 * time.Second
	keysEvery   = 30 * time.Second
	pruneEvery  = 10 * time.Minute
	lastFlush   = 5 * time.Second
	keysChanged = "oauth_keys" // told like an id
)

// Run keeps last-used times, learns of new signing keys and forgets what is
// over, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	flush, keys, prune := time.NewTicker(flushEvery), time.NewTicker(keysEvery), time.NewTicker(pruneEvery)
	defer flush.Stop()
	defer keys.Stop()
	defer prune.Stop()
	for {
		var err error
		select {
		case <-flush.C:
			err = s.flush(ctx)
		case <-keys.C:
			err = s.keys.reload(ctx)
		case <-prune.C:
			err = s.db.PruneOAuth(ctx, s.opt.Now())
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			if err := s.flush(ctx); err != nil {
				s.opt.Log.Warn("last-used times of grants not written", "err", err)
			}
			return nil
		}
		if err != nil && ctx.Err() == nil {
			s.opt.Log.Warn("the authorization server tries that again later", "err", err)
		}
	}
}

// Forget drops what is cached about a grant, a token family or a user, because
// something about it has changed, here or on another replica.
func (s *Server) Forget(id string) {
	if id == keysChanged {
		s.keys.stale()
		return
	}
	s.tokens.forget(id)
}

// changed forgets here and everywhere.
func (s *Server) changed(kind, id string) {
	s.Forget(id)
	s.opt.Tell(kind, id)
}

// audit writes a line into a person's trail. It is no reason to fail.
func (s *Server) audit(ctx context.Context, userID, actor, action, subject string, detail map[string]string) {
	err := s.db.Audit(context.WithoutCancel(ctx), store.AuditRow{OwnerID: userID, At: s.opt.Now(), Actor: actor, Action: action, Subject: subject, Detail: detail})
	if err != nil {
		s.opt.Log.ErrorContext(ctx, "audit line not written", "action", action, "err", err)
	}
}
