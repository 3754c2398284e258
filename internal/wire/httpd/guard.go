package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// local reports whether a request to a loopback listener really comes from
// this machine's user. A web page can make a browser on this machine connect
// here, under a name that its own DNS points at 127.0.0.1, but it cannot make
// the browser lie about Host and Origin. A Host out of h.Hosts means that a
// reverse proxy brings the public here: Origin is then the surface's affair,
// as it is on a public listener.
func (h *Handler) local(r *http.Request) bool {
	host := hostname(r.Host)
	if !loopbackName(host) {
		return slices.ContainsFunc(h.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
	}
	for _, origin := range r.Header["Origin"] {
		if !loopbackOrigin(origin) && (origin != "null" || !ownPage(r)) {
			return false
		}
	}
	return true
}

// ownPage reports whether the browser says that a page of this very address
// sent the request. A page that sends no referrer sends Origin "null" with its
// forms; no page can set this header itself.
func ownPage(r *http.Request) bool {
	site := r.Header["Sec-Fetch-Site"]
	return len(site) == 1 && site[0] == "same-origin"
}

// hostname is hostport without its port and IPv6 brackets.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

func loopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// loopbackOrigin refuses "null" as well: a sandboxed page is still a page.
func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopbackName(u.Hostname())
}

// isText reports whether what an address says is text that every database can
// hold: UTF-8 without the zero byte. Path and query are the only text that gets
// past the JSON reader.
func isText(u *url.URL) bool {
	query := u.RawQuery
	if strings.Contains(query, "%") {
		if plain, err := url.QueryUnescape(query); err == nil { // whoever reads a broken one finds nothing in it
			query = plain
		}
	}
	return storable(u.Path) && storable(query)
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
