package outbound

import (
	"fmt"
	"net/netip"
	"slices"
)

// kind says who may connect to a range of addresses.
type kind int

const (
	public   kind = iota
	private       // this machine and its network: AllowPrivate opens these
	reserved      // nothing that a stranger should name; the operator may
	metadata      // clouds hand out their machines' credentials there: nobody may
)

// addresses is the one table of where a client may connect to. The first range
// that holds an address counts.
var addresses = []struct {
	prefix netip.Prefix
	kind   kind
}{
	{ranged("169.254.169.254/32"), metadata}, // AWS, Google, Azure, Oracle and most others
	{ranged("169.254.170.0/24"), metadata},   // AWS containers
	{ranged("169.254.0.23/32"), metadata},    // Tencent
	{ranged("100.100.100.200/32"), metadata}, // Alibaba
	{ranged("168.63.129.16/32"), metadata},   // Azure's wire server
	{ranged("192.0.0.192/32"), metadata},     // Oracle, formerly
	{ranged("fd00:ec2::/32"), metadata},      // AWS
	{ranged("fd20:ce::254/128"), metadata},   // Google
	{ranged("fd00:42::42/128"), metadata},    // Scaleway

	{ranged("127.0.0.0/8"), private},
	{ranged("10.0.0.0/8"), private},
	{ranged("172.16.0.0/12"), private},
	{ranged("192.168.0.0/16"), private},
	{ranged("::1/128"), private},
	{ranged("fc00::/7"), private},

	{ranged("0.0.0.0/8"), reserved},       // this network
	{ranged("100.64.0.0/10"), reserved},   // carriers' NAT
	{ranged("169.254.0.0/16"), reserved},  // link-local
	{ranged("192.0.0.0/24"), reserved},    // IETF protocols
	{ranged("192.0.2.0/24"), reserved},    // documentation
	{ranged("192.31.196.0/24"), reserved}, // AS112
	{ranged("192.52.193.0/24"), reserved}, // AMT
	{ranged("192.88.99.0/24"), reserved},  // 6to4 relays
	{ranged("192.175.48.0/24"), reserved}, // AS112
	{ranged("198.18.0.0/15"), reserved},   // benchmarks
	{ranged("198.51.100.0/24"), reserved}, // documentation
	{ranged("203.0.113.0/24"), reserved},  // documentation
	{ranged("224.0.0.0/4"), reserved},     // multicast
	{ranged("240.0.0.0/4"), reserved},     // future use, broadcast
	{ranged("0.0.0.0/0"), public},

	{ranged("2001::/23"), reserved},         // IETF protocols, Teredo
	{ranged("2001:db8::/32"), reserved},     // documentation
	{ranged("2002::/16"), reserved},         // 6to4
	{ranged("2620:4f:8000::/48"), reserved}, // AS112
	{ranged("3fff::/20"), reserved},         // documentation
	{ranged("2000::/3"), public},
	{ranged("::/0"), reserved}, // NAT64, link-local, site-local, multicast and what nobody has yet
}

func ranged(text string) netip.Prefix { return netip.MustParsePrefix(text) }

const (
	whyPrivate  = "this address is not in the public Internet; use a public one, or have the operator allow private networks with BEEOS_ALLOW_PRIVATE=true"
	whyReserved = "this address is not in the public Internet, and no setting opens it; use another one"
)

// refusal says why a client would not connect to an address; "" = it would.
func (o Options) refusal(at netip.AddrPort) string {
	worst := public
	for _, form := range forms(at.Addr().Unmap().WithZone("")) {
		worst = max(worst, kindOf(form))
	}
	switch {
	case worst == metadata, worst == reserved && !o.Trusted:
		return whyReserved
	case worst == private && !o.AllowPrivate && !o.Trusted:
		return whyPrivate
	case len(o.Ports) > 0 && !slices.Contains(o.Ports, at.Port()) && !o.AllowPrivate && !o.Trusted:
		return fmt.Sprintf("this port is not allowed; use one of %v", o.Ports)
	}
	return ""
}

func kindOf(a netip.Addr) kind {
	for _, row := range addresses {
		if row.prefix.Contains(a) {
			return row.kind
		}
	}
	return reserved
}

// translations are IPv6 ranges whose addresses stand for an IPv4 address, and
// the bytes that hold it.
var translations = []struct {
	prefix netip.Prefix
	bytes  [4]int
}{
	{ranged("::/96"), [4]int{12, 13, 14, 15}},           // IPv4-compatible
	{ranged("::ffff:0:0:0/96"), [4]int{12, 13, 14, 15}}, // IPv4-translated
	{ranged("64:ff9b::/96"), [4]int{12, 13, 14, 15}},    // NAT64
	{ranged("64:ff9b:1::/48"), [4]int{12, 13, 14, 15}},  // NAT64 of one network, by a prefix of 96 bits
	{ranged("64:ff9b:1::/48"), [4]int{6, 7, 9, 10}},     // the same, by one of 48
	{ranged("2002::/16"), [4]int{2, 3, 4, 5}},           // 6to4
	{ranged("2001::/32"), [4]int{4, 5, 6, 7}},           // Teredo's server
}

// forms are an address and the IPv4 addresses that a gateway on the way would
// make of it.
func forms(a netip.Addr) []netip.Addr {
	all := []netip.Addr{a}
	if a.Is4() || a.IsLoopback() || a.IsUnspecified() {
		return all
	}
	b := a.As16()
	for _, t := range translations {
		if t.prefix.Contains(a) {
			all = append(all, netip.AddrFrom4([4]byte{b[t.bytes[0]], b[t.bytes[1]], b[t.bytes[2]], b[t.bytes[3]]}))
		}
	}
	if ranged("2001::/32").Contains(a) { // Teredo's client, bit by bit the opposite
		all = append(all, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP, below any prefix
		all = append(all, netip.AddrFrom4([4]byte(b[12:])))
	}
	return all
}

// IsPrivate reports whether a host is an address of this machine or its network. A
// name is not: where it leads may change.
func IsPrivate(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && kindOf(a.Unmap()) == private
}
