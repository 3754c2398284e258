// Package directory tells programs which agents are here before they connect: an
// AI catalog, a card for each agent as an MCP server (cards.go), and the read API
// of an MCP registry (registry.go). Each reader finds what they may call; an agent
// that is not private has a card for whoever knows its id.
package directory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	catalogPath   = "/.well-known/ai-catalog.json"
	allowed       = "GET, HEAD, OPTIONS"
	registryPath  = "/v0.1/servers"
	cardSuffix    = "/mcp/server-card"
	mcpCardType   = "application/mcp-server-card+json"
	a2aCardType   = "application/a2a-agent-card+json"
	catalogType   = "application/ai-catalog+json"
	catalogLimit  = 200 // agents; the rest are in a catalog of their own
	registryLimit = 100
)

// Options are the parts that the directory stands on.
type Options struct {
	Acts      *act.Acts
	Auth      *auth.Authenticator
	Agents    *agents.Table
	MCPURL    string                                                  // without a slash at its end
	A2AURL    string                                                  // "" = agents are no A2A peers here
	Challenge func(r *http.Request, agentID string, err error) string // for whoever has no good credential
}

// Directory serves the documents.
type Directory struct{ opt Options }

// New returns a directory.
func New(opt Options) *Directory { return &Directory{opt} }

// Serves reports whether a path is one of the directory's.
func Serves(path string) bool {
	id, isCard := strings.CutSuffix(path, cardSuffix)
	return path == catalogPath || path == registryPath || strings.HasPrefix(path, registryPath+"/") || isCard && strings.Count(id, "/") == 1
}

func (d *Directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, isCard := strings.CutSuffix(r.URL.Path, cardSuffix)
	switch {
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusNoContent) // what pages may do is in the headers already
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", allowed)
		httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no %s here: the directory is only read", r.Method))
	case isCard:
		d.serveCard(w, r, id[1:])
	case r.URL.Path == catalogPath:
		d.serveCatalog(w, r)
	default:
		d.serveRegistry(w, r)
	}
}

// reader is who asks for a list. Nobody is one, too, and finds nothing.
func (d *Directory) reader(r *http.Request, id string) (beeos.Caller, error) {
	c, err := d.opt.Auth.Authenticate(r, auth.Audience{Surface: auth.MCP, Resource: d.opt.MCPURL + id + "/mcp"})
	if err != nil && beeos.CodeOf(err) == beeos.MissingToken {
		return beeos.Caller{}, nil
	}
	return c, err
}

// refuse says that somebody is not who they say they are, and how they could be.
func (d *Directory) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if httpd.StatusOf(err) == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", d.opt.Challenge(r, "", err))
	}
	httpd.WriteError(w, r, err)
}

// write sends a document that may be kept for a minute, by everybody if it is the
// same for everybody.
func write(w http.ResponseWriter, r *http.Request, mediaType string, shared bool, v any) {
	body, err := beeos.EncodeJSON(v)
	if err != nil {
		httpd.WriteError(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Vary", "Origin, Authorization, X-Agent-API-Key")
	h.Add("Access-Control-Expose-Headers", "ETag")
	if h.Set("Cache-Control", "private, max-age=60"); shared {
		h.Set("Cache-Control", "public, max-age=60")
	}
	sum := sha256.Sum256(body)
	h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// namespace is the server's host in reverse, which names of MCP servers begin with.
func (d *Directory) namespace() string {
	host := d.host()
	if net.ParseIP(host) != nil {
		return strings.ReplaceAll(host, ":", "-")
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// base is the URL below which the reader has reached us.
func (d *Directory) base(r *http.Request) string { return httpd.Base(r, d.opt.MCPURL) }

func (d *Directory) host() string {
	if u, err := url.Parse(d.opt.MCPURL); err == nil && u.Hostname() != "" {
		return strings.ToLower(u.Hostname())
	}
	return "localhost"
}
