// Package switchboard is in front of the surfaces where they share one address:
// route.go says which of them a path belongs to, switchboard.go does so for a
// request, whose host counts first, and answers those that are nobody's. It hands
// requests over as they are; the surfaces do not notice it.
package switchboard

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Board knows which surface a request is for.
type Board struct {
	// Hosts are the names that this server is reached under, and the surface
	// that each serves; "" is all that have no name of their own. nil = the
	// listener says who may come, and all is under whatever name it lets in.
	Hosts map[string]string
	URLs  map[string]string // of each surface, for those who look for it elsewhere
	Runs  []string          // the surfaces of this process
}

// Pick returns the surface that a request is for; "" = it is the board's to answer.
func (b *Board) Pick(r *http.Request) string {
	if isProbe(r) {
		return ""
	}
	surface, err := b.find(r)
	if err != nil {
		return ""
	}
	return surface
}

// isProbe reports whether somebody asks how the server is. Those who do often
// know no more of it than an address.
func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// find returns the surface that a request is for, or why there is none.
func (b *Board) find(r *http.Request) (string, error) {
	surface := Route(r.URL.Path)
	if b.Hosts != nil {
		own, known := b.Hosts[hostOf(r)]
		switch {
		case !known:
			return "", beeos.Wrap(beeos.NotFound, httpd.ErrMisdirected, "this server is not the one of that name; it is at "+b.URLs[surface])
		case own != "":
			surface = own
		case b.hasName(surface):
			return surface, beeos.Wrap(beeos.NotFound, httpd.ErrMisdirected, "this is at "+b.URLs[surface])
		}
	}
	if !slices.Contains(b.Runs, surface) {
		return "", beeos.Errorf(beeos.NotFound, "this process serves %s, and not %s, which another one of this server does: send the request there (BEEOS_ONLY says what runs where)", strings.Join(b.Runs, ", "), surface)
	}
	return surface, nil
}

func (b *Board) hasName(surface string) bool {
	for _, s := range b.Hosts {
		if s == surface {
			return true
		}
	}
	return false
}

// ServeHTTP answers what is no surface's. People who type the domain are led to
// the console's own name.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	surface, err := b.find(r)
	if surface == Web && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		http.Redirect(w, r, b.URLs[Web]+pathOf(r), http.StatusPermanentRedirect)
		return
	}
	httpd.WriteError(w, r, err)
}

// Redirect leads requests over HTTP to the same host and path over HTTPS.
func (b *Board) Redirect(w http.ResponseWriter, r *http.Request) {
	host := hostOf(r)
	if _, known := b.Hosts[host]; !known {
		httpd.WriteError(w, r, beeos.Wrap(beeos.NotFound, httpd.ErrMisdirected, "this server is not the one of that name; it is at "+b.URLs[Route(r.URL.Path)]))
		return
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(b.URLs[Web], "https://")) //nolint:errcheck // then it has none
	if port != "" {
		host = net.JoinHostPort(host, port)
	}
	// A method and a body go along with 308.
	http.Redirect(w, r, "https://"+host+pathOf(r), http.StatusPermanentRedirect)
}

// pathOf is what comes after the host.
func pathOf(r *http.Request) string {
	if path := r.URL.RequestURI(); strings.HasPrefix(path, "/") {
		return path
	}
	return "/" // CONNECT, and whatever else names no path
}

func hostOf(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
