// Package outbound is the only maker of HTTP clients. Most of what BeeOS calls
// is named by somebody else: webhooks, push receivers, documents of OAuth
// clients, skill servers and the authorization servers that those name. A
// client from here connects only to addresses that the table in addresses.go
// allows, checked at the moment of dialling, so that a name which points
// elsewhere by then does not help. It bounds what comes back (body.go): bytes
// after decompression, headers, time and redirects; events.go reads it where it
// is a stream of events. CheckURL (url.go) tells a person at once what a dial
// would refuse later.
package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beeos/beeos"
)

const (
	defaultBody   = 8 << 20
	defaultIdle   = time.Hour // the longest that one answer of a built-in agent may take
	connectWithin = 10 * time.Second
	maxHeaders    = 64 << 10
)

// Options say where a client may connect to and how much it takes. The zero
// value reaches the public Internet alone and follows no redirect.
type Options struct {
	// AllowPrivate opens this machine and private networks, at any port: it is
	// the setting BEEOS_ALLOW_PRIVATE.
	AllowPrivate bool
	// Trusted is for addresses that the operator of this process has written
	// down, such as the model service or the server behind a bridge: they may
	// be anywhere, and the proxy of the environment is used. Only the metadata
	// services of clouds stay closed.
	Trusted bool
	// Ports are those that public addresses may be called at; nil = any.
	Ports []uint16

	// MaxBody bounds an answer after decompression. Of an event stream that is
	// not compressed it bounds each event, and the whole may have sixteen times
	// as much, in 250,000 events. 0 = 8 MiB.
	MaxBody int64
	// Timeout bounds a request as a whole, its answer included; 0 = none, as
	// streams need it.
	Timeout time.Duration
	// Idle bounds the wait for the headers, and for each next piece of the
	// answer; 0 = one hour.
	Idle time.Duration
	// Redirects is how many are followed. Each is dialled under the same rules;
	// credentials stay behind when one leads to another origin.
	Redirects int

	Resolver *net.Resolver              // nil = the system's
	TLS      *tls.Config                // nil = the system's roots
	Dialing  func(address string) error // sees every address that was allowed, before it is dialled; an error stops it
}

// Client returns a client with these bounds.
func Client(o Options) *http.Client { return o.client(Transport(o)) }

// ClientOver returns a client with the bounds of o on answers, time and
// redirects over a transport that a caller has built on Transport. Where it
// may connect to is decided there.
func ClientOver(base http.RoundTripper, o Options) *http.Client {
	return o.client(newBounded(base, o))
}

func (o Options) client(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, Timeout: o.Timeout, CheckRedirect: o.checkRedirect}
}

// Transport returns what Client sends with, for those who add something in
// between.
func Transport(o Options) http.RoundTripper {
	dialer := &net.Dialer{Timeout: connectWithin, Resolver: o.Resolver, Control: o.checkDial}
	t := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSClientConfig: o.TLS,
		TLSHandshakeTimeout: connectWithin, ResponseHeaderTimeout: o.idle(), MaxResponseHeaderBytes: maxHeaders,
		MaxIdleConns: 100, MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second,
	}
	if o.Trusted {
		t.Proxy = http.ProxyFromEnvironment
	}
	return newBounded(t, o)
}

func (o Options) idle() time.Duration {
	return cmp.Or(o.Idle, defaultIdle)
}

// checkDial refuses an address at the moment of dialling: what a name resolved
// to earlier does not count.
func (o Options) checkDial(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if why := o.refusal(at); why != "" { // without what the name resolved to: that is nobody's business
		return beeos.Errorf(beeos.AgentServiceUnavailable, "%s", why)
	}
	if o.Dialing != nil {
		return o.Dialing(address)
	}
	return nil
}

// checkRedirect follows as many redirects as there may be. What a request
// carries for one origin is nothing for another, except what says how to read
// it.
func (o Options) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > o.Redirects {
		if o.Redirects == 0 {
			return http.ErrUseLastResponse
		}
		return errors.New("the server redirects again and again; use the address that it leads to")
	}
	elsewhere := func(r *http.Request) bool { return !sameOrigin(r.URL, via[0].URL) }
	if elsewhere(req) || slices.ContainsFunc(via, elsewhere) {
		for name := range req.Header {
			if !slices.Contains([]string{"Accept", "Content-Type", "User-Agent"}, name) {
				req.Header.Del(name)
			}
		}
	}
	return nil
}

// sameOrigin reports whether two addresses have scheme, host and port in
// common.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}

// Wait waits before another try, unless ctx ends first, whose cause is the error
// then.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
