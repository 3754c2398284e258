package oauth

import (
	"context"
	"net/url"
	"strings"
	"unicode"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/grants"
)

// How a client made itself known.
const (
	Dynamic  = "dynamic"  // it registered
	Document = "document" // its id is the address of a document
)

const (
	clientPrefix = "mcp_client_"
	nameLongest  = 64 // characters
	urisMost     = 16
)

// findClient finds a client by its id, which may mean to fetch its document.
func (s *Server) findClient(ctx context.Context, id, from string) (grants.Client, error) {
	if !strings.HasPrefix(id, clientPrefix) {
		return s.documents.findClient(ctx, id, from)
	}
	c, err := s.opt.Grants.GetClient(ctx, id, s.opt.Now())
	if beeos.CodeOf(err) == beeos.NotFound {
		err = refusal("invalid_client", "it is not registered here, or its registration has expired; remove the server from the app and add it again")
	}
	return c, err
}

// checkRedirects looks at the redirect URIs that a client gives itself.
func checkRedirects(uris []string) error {
	if len(uris) == 0 || len(uris) > urisMost {
		return refusal("invalid_redirect_uri", "redirect_uris needs 1 to 16 entries")
	}
	for _, uri := range uris {
		if _, ok := parseRedirect(uri); !ok {
			return refusal("invalid_redirect_uri", "a redirect URI is https, or http to localhost, 127.0.0.1 or [::1]; without fragment, user or wildcard")
		}
	}
	return nil
}

// cleanName makes a client's name fit to be shown: a line of text that cannot
// turn the direction of what follows, and not a long one.
func cleanName(name, redirect string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if runes := []rune(strings.Join(strings.Fields(name), " ")); len(runes) > nameLongest {
		return strings.TrimSpace(string(runes[:nameLongest])) + "…"
	} else if len(runes) > 0 {
		return string(runes)
	}
	if u, err := url.Parse(redirect); err == nil {
		return shownHost(u)
	}
	return "an app"
}
