package outbound

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/dnstest"
)

// forbidden is one address of every range that is not the public Internet, or
// leads back out of it.
var forbidden = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.1",
	"192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
	"168.63.129.16", "100.100.100.200", "192.31.196.1", "192.52.193.1", "192.175.48.1",
	"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::",
	"3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::1", "fec0::1", "ff02::1", "2620:4f:8000::1",
	"2606:4700::5efe:a00:1", "2606:4700::200:5efe:a9fe:a9fe",
}

// metadataServices answer with credentials. No setting opens them.
var metadataServices = []string{
	"169.254.169.254", "169.254.170.2", "169.254.0.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
	"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42",
}

// disguises are the IPv6 addresses that stand for an IPv4 address.
func disguises(v4 netip.Addr) map[string]netip.Addr {
	b := v4.As4()
	put := func(prefix string, at ...int) netip.Addr {
		a := netip.MustParseAddr(prefix).As16()
		for i, n := range at {
			a[n] = b[i]
		}
		return netip.AddrFrom16(a)
	}
	teredo := put("2001:0:4136:e378:8000:63bf::", 12, 13, 14, 15).As16()
	for i := 12; i < 16; i++ {
		teredo[i] ^= 0xff
	}
	return map[string]netip.Addr{
		"mapped":              put("::ffff:0:0", 12, 13, 14, 15),
		"compatible":          put("::", 12, 13, 14, 15),
		"translated":          put("::ffff:0:0:0", 12, 13, 14, 15),
		"NAT64":               put("64:ff9b::", 12, 13, 14, 15),
		"NAT64 of a network":  put("64:ff9b:1::", 12, 13, 14, 15),
		"NAT64 of 48 bits":    put("64:ff9b:1::", 6, 7, 9, 10),
		"6to4":                put("2002::", 2, 3, 4, 5),
		"Teredo client":       netip.AddrFrom16(teredo),
		"Teredo server":       put("2001::", 4, 5, 6, 7),
		"ISATAP":              put("fd12::5efe:0:0", 12, 13, 14, 15),
		"ISATAP, public":      put("2606:4700::5efe:0:0", 12, 13, 14, 15),
		"ISATAP, global bit":  put("fd12::200:5efe:0:0", 12, 13, 14, 15),
		"ISATAP, public, bit": put("2606:4700::200:5efe:0:0", 12, 13, 14, 15),
	}
}

func (o Options) refuses(a netip.Addr) bool { return o.refusal(netip.AddrPortFrom(a, 443)) != "" }

func TestForbiddenAddressesAreRefused(t *testing.T) {
	for _, text := range forbidden {
		a := netip.MustParseAddr(text)
		if !(Options{}).refuses(a) {
			t.Errorf("%s is allowed", text)
		}
		if !a.Is4() {
			continue
		}
		for name, other := range disguises(a) {
			if !(Options{}).refuses(other) {
				t.Errorf("%s as %s, %s, is allowed", text, name, other)
			}
		}
	}
	for _, text := range []string{"8.8.8.8", "93.184.216.34", "1.1.1.1", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450::1", "168.63.129.17"} {
		if (Options{}).refuses(netip.MustParseAddr(text)) {
			t.Errorf("%s is refused", text)
		}
	}
}

// TestMetadataServicesStayClosed: whatever else is allowed, and however the
// address is written.
func TestMetadataServicesStayClosed(t *testing.T) {
	for name, o := range map[string]Options{"private": {AllowPrivate: true}, "trusted": {Trusted: true}, "both": {AllowPrivate: true, Trusted: true}} {
		for _, text := range metadataServices {
			a := netip.MustParseAddr(text)
			if !o.refuses(a) {
				t.Errorf("%s: %s is allowed", name, text)
			}
			if !a.Is4() {
				continue
			}
			for form, other := range disguises(a) {
				if !o.refuses(other) {
					t.Errorf("%s: %s as %s, %s, is allowed", name, text, form, other)
				}
			}
		}
	}
}

func TestIsPrivate(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "::1": true, "fd12::1": true, "::ffff:10.0.0.1": true,
		"169.254.169.254": false, "fd00:ec2::254": false, "9.9.9.9": false, "localhost": false, "": false,
	} {
		if got := IsPrivate(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// TestAllowPrivateOpensPrivateNetworksAlone: of every other forbidden address,
// each disguise stays closed, too.
func TestAllowPrivateOpensPrivateNetworksAlone(t *testing.T) {
	o := Options{AllowPrivate: true, Ports: []uint16{443}}
	for _, text := range []string{"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "::1", "fd12::1", "::ffff:10.0.0.1", "fd12::5efe:a00:1"} {
		if why := o.refusal(netip.AddrPortFrom(netip.MustParseAddr(text), 1234)); why != "" {
			t.Errorf("%s: %s", text, why)
		}
	}
	for _, text := range forbidden {
		a := netip.MustParseAddr(text)
		if a.Unmap().IsPrivate() && kindOf(a) == private || a.Unmap().IsLoopback() {
			continue
		}
		if text == "2606:4700::5efe:a00:1" { // stands for 10.0.0.1
			continue
		}
		if !o.refuses(a) {
			t.Errorf("%s is allowed", text)
		}
		if !a.Is4() {
			continue
		}
		for form, other := range disguises(a) {
			if !o.refuses(other) {
				t.Errorf("%s as %s, %s, is allowed", text, form, other)
			}
		}
	}
}

// TestTrustedReachesWhatTheOperatorNames, in networks of whatever kind.
func TestTrustedReachesWhatTheOperatorNames(t *testing.T) {
	for _, text := range []string{"127.0.0.1", "10.0.0.1", "100.64.0.1", "169.254.12.3", "fe80::1%eth0", "64:ff9b::808:808", "::1"} {
		if (Options{Trusted: true}).refuses(netip.MustParseAddr(text)) {
			t.Errorf("%s is refused", text)
		}
	}
}

// TestURLsAreCheckedBeforeTheyAreKept: what CheckURL refuses cannot be sent to
// either, however it is written.
func TestURLsAreCheckedBeforeTheyAreKept(t *testing.T) {
	o := Options{Ports: []uint16{80, 443, 8080, 8443}, Resolver: dnstest.Resolver(t, func() []string { return []string{"127.0.0.1"} })}
	refused := func(url string) {
		t.Helper()
		if err := CheckURL(t.Context(), url, o); beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%s: %v", url, err)
		}
	}
	unreachable := func(url string) {
		t.Helper()
		refused(url)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := Client(o).Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("%s was sent to", url)
		}
	}
	for _, ip := range forbidden {
		unreachable("http://" + netip.AddrPortFrom(netip.MustParseAddr(ip), 80).String() + "/")
	}
	for _, url := range []string{
		"http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.0.1./", "http://[::]/", "http://[::ffff:7f00:1]/",
		"http://localhost", "http://localhost.:80/", "http://LOCALHOST/", "http://inside.test/",
		"ftp://8.8.8.8/", "gopher://8.8.8.8/", "file:///etc/passwd", "unix:///run/x.sock",
		"http://8.8.8.8:22/", "http://8.8.8.8:6379/", "http://8.8.8.8:25/",
	} {
		unreachable(url)
	}
	for _, url := range []string{
		"http://8.8.8.8:0/", "http://8.8.8.8:99999/",
		"http://user@8.8.8.8/", "http://user:password@8.8.8.8/", "https://8.8.8.8/#x",
		"javascript:alert(1)", "//8.8.8.8/", "8.8.8.8", "", "http://", "http:///x",
		"http://[fe80::1%25eth0]/", "http://8.8.8.8 /", "http://8.8.8.8\n/", "https://8.8.8.8/" + strings.Repeat("a", maxURL),
	} {
		refused(url)
	}
	for _, url := range []string{"https://8.8.8.8/hook?x=1", "http://8.8.8.8/", "https://[2606:4700:4700::1111]:8443/"} {
		if err := CheckURL(t.Context(), url, o); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRefusalsNameTheNextStep(t *testing.T) {
	for url, want := range map[string]string{
		"http://10.0.0.1/":       "BEEOS_ALLOW_PRIVATE=true",
		"http://169.254.1.1/":    "no setting opens it",
		"http://8.8.8.8:25/":     "use one of [80 443]",
		"http://[fd20:ce::254]/": "no setting opens it",
	} {
		err := CheckURL(t.Context(), url, Options{Ports: []uint16{80, 443}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
