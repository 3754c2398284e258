package oauth

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const redirectLongest = 2048

// appSchemes are those that programs on a computer or phone open and that
// carry no dot, as such schemes should (RFC 8252).
var appSchemes = []string{"cursor", "vscode", "vscode-insiders", "windsurf", "claude"}

// parseRedirect reads a redirect URI. It returns false for anything that a
// browser could read in another way than we do, or that leads to somewhere
// but the client: only https, http to this computer, and the schemes of
// programs are left.
func parseRedirect(uri string) (*url.URL, bool) {
	if uri == "" || len(uri) > redirectLongest || strings.ContainsFunc(uri, unsafeInURI) {
		return nil, false
	}
	u, err := url.Parse(uri)
	if err != nil || u.User != nil || u.Opaque != "" || strings.Contains(uri, "#") || !plainHost(u) || !goodPort(u) {
		return nil, false
	}
	switch {
	case u.Scheme == "https":
		return u, u.Hostname() != "" && strings.HasPrefix(uri, "https://")
	case u.Scheme == "http":
		return u, loopback(u)
	case strings.Contains(u.Scheme, ".") || slices.Contains(appSchemes, u.Scheme):
		return u, u.Host != "" || u.Path != ""
	}
	return nil, false
}

// unsafeInURI are the characters that RFC 3986 has no place for, and the
// wildcard that some servers have a meaning for.
func unsafeInURI(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune("\\*\"<>^`{|}", c)
}

// plainHost reports whether a host is what it looks like: url.Parse decodes
// %D0%B0pp.example to letters that people take for others.
func plainHost(u *url.URL) bool { return !strings.ContainsFunc(u.Host, unsafeInURI) }

func goodPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// loopback reports whether a redirect leads to a program on the person's own
// computer.
func loopback(u *url.URL) bool {
	return u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// matches reports whether a request may use uri for the registered one: they
// are the same, or differ in nothing but the port of this computer, which a
// program cannot know before it listens.
func matches(registered, uri string) bool {
	u, ok := parseRedirect(uri)
	if !ok {
		return false
	}
	if registered == uri {
		return true
	}
	r, ok := parseRedirect(registered)
	return ok && loopback(r) && loopback(u) && r.Hostname() == u.Hostname() &&
		r.EscapedPath() == u.EscapedPath() && r.RawQuery == u.RawQuery && r.ForceQuery == u.ForceQuery
}

// shownHost is what people see of a redirect.
func shownHost(u *url.URL) string {
	if u.Scheme == "https" || u.Scheme == "http" {
		return u.Host
	}
	return u.Scheme + "://" + u.Host
}

// withQuery adds parameters to a redirect URI, which may have some already.
func withQuery(uri string, add url.Values) string {
	separator := "?"
	if strings.Contains(uri, "?") {
		separator = "&"
		if strings.HasSuffix(uri, "?") || strings.HasSuffix(uri, "&") {
			separator = ""
		}
	}
	return uri + separator + add.Encode()
}
