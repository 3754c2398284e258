package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// CheckURL wants an address that a client can dial.
func CheckURL(option, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%s must be an http:// or https:// address", option)
	}
	return nil
}

// PlainClient follows no redirects: the headers may be secret, and are meant
// for the address that was given.
func PlainClient() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// WithoutAddress is why something could not be dialled, and not where.
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

// Refusal is an answer that is none, in the endpoint's words if it has some.
func Refusal(resp *http.Response, secrets ...string) error {
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
	return fmt.Errorf("the endpoint behind this agent answered %s: %s", resp.Status, Clip(Hide(said, secrets...)))
}

// Unheard is an error of the way to the server, not of the server's.
type Unheard struct{ Err error }

func (e *Unheard) Error() string { return e.Err.Error() }

func (e *Unheard) Unwrap() error { return e.Err }

func SameOrigin(address string, allowed []string) bool {
	for _, one := range allowed {
		if o := OriginOf(address); o != "" && o == OriginOf(one) {
			return true
		}
	}
	return false
}

// OriginOf is scheme, host and port; the names of this machine are one.
func OriginOf(address string) string {
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
