package oauthclient

import (
	"cmp"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// challenge is what a server says when it does not let a request in.
type challenge struct {
	metadata string // where it describes itself
	fault    string
	scopes   []string
	dpop     bool // it wants tokens that are bound to a key
}

func parseChallenge(resp *http.Response) (c challenge) {
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return c // then discovery goes by the server's address
	}
	bearer := false
	for _, one := range all {
		switch one.Scheme {
		case "bearer":
			bearer = true
		case "dpop":
			c.dpop = true
		default:
			continue
		}
		c.metadata = cmp.Or(c.metadata, one.Params["resource_metadata"])
		c.fault = cmp.Or(c.fault, one.Params["error"])
		if c.scopes == nil {
			c.scopes = strings.Fields(one.Params["scope"])
		}
	}
	c.dpop = c.dpop && !bearer
	return c
}

// drainBody reads what is left of an answer that nobody wants, so that the
// connection can be used again.
func drainBody(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}
