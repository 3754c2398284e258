package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/beeos/beeos"
)

const (
	maxURL        = 2048
	attemptWithin = 10 * time.Second
	lookupWithin  = 5 * time.Second
	maxAnswer     = 64 << 10 // of a receiver's answer, its headers and its body each
)

// guard keeps deliveries away from what a stranger should not reach through
// us. The check at registration is for people; the one at every dial counts,
// since a name can point elsewhere by then.
type guard struct {
	check    func(network, address string, c syscall.RawConn) error
	resolver *net.Resolver
}

// ports are where receivers in the public Internet may listen.
var ports = ssrf.WithPorts(80, 443, 8080, 8443)

func newGuard(allowPrivate bool, resolver *net.Resolver) *guard {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	g := &guard{resolver: resolver, check: ssrf.New(ports).Safe}
	if allowPrivate { // link-local addresses stay closed: clouds keep credentials there
		g.check = ssrf.New(ssrf.WithAnyPort(),
			ssrf.WithAllowedV4Prefixes(prefixes("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")...),
			ssrf.WithAllowedV6Prefixes(prefixes("::1/128", "fc00::/7")...)).Safe
	}
	return g
}

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, p := range list {
		all[i] = netip.MustParsePrefix(p)
	}
	return all
}

// metadata is where a cloud answers with credentials inside of a range that
// may be allowed; the ssrf package would look at the allowed ranges first.
var metadata = netip.MustParseAddr("fd00:ec2::254")

func (g *guard) safe(network, address string, c syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().WithZone("") == metadata {
		return ssrf.ErrProhibitedIP
	}
	return g.check(network, address, c)
}

// client sends to where the guard lets it: straight, without a proxy, and not
// to where a receiver sends it on.
func (g *guard) client() *http.Client {
	dialer := &net.Dialer{Timeout: attemptWithin, Resolver: g.resolver, Control: g.safe}
	return &http.Client{
		Timeout: attemptWithin,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: attemptWithin,
			MaxResponseHeaderBytes: maxAnswer, DisableCompression: true,
			MaxIdleConns: 100, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// checkURL refuses what could not be sent to, with the reason.
func (g *guard) checkURL(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > maxURL:
		return beeos.Errorf(beeos.InvalidParam, "url may have at most %d bytes", maxURL)
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return beeos.Errorf(beeos.InvalidParam, "url must be like https://example.com/hook")
	case u.Scheme != "https" && u.Scheme != "http":
		return beeos.Errorf(beeos.InvalidParam, "url must begin with https:// or http://")
	case u.User != nil:
		return beeos.Errorf(beeos.InvalidParam, "url must not have a name or password in it; use token")
	case u.Fragment != "":
		return beeos.Errorf(beeos.InvalidParam, "url must not have a # in it")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return g.checkHost(ctx, u.Hostname(), port)
}

func (g *guard) checkHost(ctx context.Context, host, port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return beeos.Errorf(beeos.InvalidParam, "url: %q is no port", port)
	}
	addrs := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, ip)
	} else if numeric(host) {
		return beeos.Errorf(beeos.InvalidParam, "url: write the address as 192.0.2.1 or use a name")
	} else if addrs, err = g.lookup(ctx, host); err != nil {
		return beeos.Errorf(beeos.InvalidParam, "url: the host name %.100q cannot be found", host)
	}
	for _, ip := range addrs {
		if err := g.safe(networkOf(ip), netip.AddrPortFrom(ip, uint16(n)).String(), nil); err != nil {
			return beeos.Errorf(beeos.InvalidParam, "url: %s", refusal(err))
		}
	}
	return nil
}

func (g *guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupWithin)
	defer cancel()
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", host)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap() // as it would be dialled
	}
	return addrs, err
}

// networkOf is what a dial to an address calls its network. A v4 address in v6
// clothes stays what it is: the guard knows those, too.
func networkOf(ip netip.Addr) string {
	if ip.Is4() {
		return "tcp4"
	}
	return "tcp6"
}

// numeric reports whether a host is an address in one of the old notations,
// such as 0x7f.1 or 2130706433, which some resolvers take.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || last != "" && strings.Trim(last, "0123456789") == ""
}

// refusal says why the guard refused, without the address that it found.
func refusal(err error) string {
	switch {
	case errors.Is(err, ssrf.ErrProhibitedPort):
		return "this port is not allowed for webhooks"
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		return "this address is not in the public Internet; the operator can allow private ones"
	}
	return ""
}

// reason is an error of an attempt in words that tell nothing about our
// network.
func reason(err error) string {
	if text := refusal(err); text != "" {
		return text
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return fmt.Sprintf("no answer within %s", attemptWithin)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host name cannot be found"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return "the connection failed: " + shorten(op.Err.Error())
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return shorten(err.Error())
}

func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
