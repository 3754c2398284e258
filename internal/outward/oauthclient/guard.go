package oauthclient

import (
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Guard returns a transport that dials public addresses alone, whatever a name
// resolves to at that moment, and goes through no proxy. With private, as in
// development, this machine and private networks are allowed as well, but never
// the addresses at which clouds keep their machines' credentials.
func Guard(private bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: guard(private)}
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 10 * time.Minute,
		IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 32, MaxResponseHeaderBytes: 64 << 10,
	}
}

func guard(private bool) func(network, address string, c syscall.RawConn) error {
	if !private {
		return ssrf.New(ssrf.WithAnyPort()).Safe
	}
	return ssrf.New(ssrf.WithAnyPort(),
		ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")),
		ssrf.WithAllowedV6Prefixes(netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7")),
	).Safe
}
