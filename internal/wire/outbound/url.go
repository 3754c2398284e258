package outbound

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

const (
	maxURL       = 2048
	lookupWithin = 5 * time.Second // somebody waits
)

// CheckURL refuses an address that a client with these options could not send
// to, with the reason. It is for the person who names the address; the check at
// every dial is what counts.
func CheckURL(ctx context.Context, raw string, o Options) error {
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
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil || port == 0 {
		return beeos.Errorf(beeos.InvalidParam, "url: %q is no port", u.Port())
	}
	addrs, err := o.addressesOf(ctx, u.Hostname())
	if err != nil {
		return err
	}
	for _, ip := range addrs {
		if why := o.refusal(netip.AddrPortFrom(ip, uint16(port))); why != "" {
			return beeos.Errorf(beeos.InvalidParam, "url: %s", why)
		}
	}
	return nil
}

func (o Options) addressesOf(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if isNumeric(host) {
		return nil, beeos.Errorf(beeos.InvalidParam, "url: write the address as 192.0.2.1 or use a name")
	}
	ctx, cancel := context.WithTimeout(ctx, lookupWithin)
	defer cancel()
	resolver := o.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "url: the host name %.100q cannot be found", host)
	}
	return addrs, nil
}

// isNumeric reports whether a host is an address in one of the old notations,
// such as 0x7f.1 or 2130706433, which some resolvers take.
func isNumeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || last != "" && strings.Trim(last, "0123456789") == ""
}
