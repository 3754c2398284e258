package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// CheckURL wants an address that a client can dial.
func CheckURL(option, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%s must be an http:// or https:// address", option)
	}
	return nil
}

// NewClient follows no redirects: the headers may be secret, and are meant
// for the address that was given.
func NewClient() *http.Client {
	return outbound.Client(outbound.Options{Trusted: true, MaxBody: MaxMessage})
}

// NewRequest returns a request with a body of JSON, or none, and the operator's
// headers, which may be credentials.
func NewRequest(ctx context.Context, method, address string, body []byte, header http.Header, accept string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "beeos/"+beeos.Version)
	return req, nil
}

// WithoutAddress says why something could not be dialled, but not where.
func WithoutAddress(err error) error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New("its name cannot be looked up")
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// StatusError is the error that a response with a bad status stands for, in the
// endpoint's words if it has some.
func StatusError(resp *http.Response, secrets ...string) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // whatever came is what there is to say
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	said := strings.TrimSpace(string(text))
	if json.Unmarshal(text, &body) == nil {
		said = body.Message
		var inner struct {
			Message string `json:"message"`
		}
		switch {
		case json.Unmarshal(body.Error, &inner) == nil && inner.Message != "":
			said = inner.Message
		case len(body.Error) > 0:
			_ = json.Unmarshal(body.Error, &said) // neither: then the status has to do
		}
	}
	if said == "" || strings.HasPrefix(said, "<") { // a page for browsers
		return fmt.Errorf("the endpoint behind this agent answered %s", resp.Status)
	}
	return fmt.Errorf("the endpoint behind this agent answered %s: %s", resp.Status, Shorten(HideSecrets(said, secrets...)))
}

// Unreachable is an error on the way to the server, not one of the server.
type Unreachable struct{ Err error }

func (e *Unreachable) Error() string { return e.Err.Error() }

func (e *Unreachable) Unwrap() error { return e.Err }

// SameOrigin reports whether address has the origin of one that is allowed.
func SameOrigin(address string, allowed []string) bool {
	origin := Origin(address)
	return origin != "" && slices.ContainsFunc(allowed, func(one string) bool { return Origin(one) == origin })
}

// Origin returns scheme, host and port; all names of this machine are one.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if host == "127.0.0.1" || host == "::1" {
		host = "localhost"
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + host + ":" + port
}
