package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// What Cert can say besides files.
const (
	CertACME = "acme"
	CertOff  = "off"
)

// nameOf says what a surface's host name begins with, if it has one.
var nameOf = map[string]string{"mcp": "mcp.", "a2a": "a2a.", "rest": "api.", "agents": "agents.", "web": "app."}

// HasAddress reports whether the surfaces of this process share one address of
// their own: whether it has a domain to serve. In beeos dev they share that of
// the console, whether there is a domain or not.
func (c *Config) HasAddress() bool { return len(c.Domain) > 0 && !c.Dev }

// Hosts returns the host names of the domain, without ports, itself first.
func (c *Config) Hosts() []string {
	var hosts []string
	for _, name := range c.Domain {
		host, _ := splitName(name)
		hosts = append(hosts, host)
	}
	return hosts
}

// SurfacesByHost returns which surface each host of the domain serves; "" is all
// that have no host of their own.
func (c *Config) SurfacesByHost() map[string]string {
	surfaces := map[string]string{}
	for i, host := range c.Hosts() {
		surfaces[host] = ""
		for surface, prefix := range nameOf {
			if i > 0 && strings.HasPrefix(host, prefix) {
				surfaces[host] = surface
			}
		}
	}
	return surfaces
}

// CertFiles returns the files of the certificate and of its key, which may be
// one; "" = there are none.
func (c *Config) CertFiles() (cert, key string) {
	if c.Cert == CertACME || c.Cert == CertOff {
		return "", ""
	}
	cert, key, found := strings.Cut(c.Cert, ",")
	if !found {
		key = cert
	}
	return cert, key
}

// Proxies returns the networks that are believed about where requests come from.
func (c *Config) Proxies() (all []netip.Prefix, err error) {
	for _, text := range c.TrustedProxies {
		networks := []string{text}
		switch text {
		case "loopback":
			networks = []string{"127.0.0.0/8", "::1/128"}
		case "private":
			networks = []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"}
		}
		for _, network := range networks {
			prefix, err := netip.ParsePrefix(network)
			if ip, single := netip.ParseAddr(network); single == nil {
				prefix, err = netip.PrefixFrom(ip, ip.BitLen()), nil
			}
			if err != nil {
				return nil, fmt.Errorf("BEEOS_TRUSTED_PROXIES has %q: write addresses as 10.0.0.7, networks as 10.0.0.0/8, or loopback or private", text)
			}
			all = append(all, prefix.Masked())
		}
	}
	return all, nil
}

// fillAddress gives every surface its URL below the domain, and takes from it a
// port that nobody asked for.
func (c *Config) fillAddress() {
	if len(c.Domain) == 0 {
		return
	}
	for i, name := range c.Domain {
		c.Domain[i] = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "."))
	}
	if c.Dev && len(c.TrustedProxies) == 0 { // the tunnel ends on this machine
		c.TrustedProxies = []string{"loopback"}
	}
	if len(c.Addr) == 0 && !c.Dev {
		c.Addr = []string{":443", ":80"}
		if c.Cert == CertOff {
			c.Addr = []string{":8080"}
		}
	}
	urls := map[string]string{}
	of := c.SurfacesByHost()
	for i, host := range c.Hosts() {
		urls[of[host]] = "https://" + c.Domain[i]
	}
	for _, s := range c.surfaces() {
		if s.PublicURL == "" {
			s.PublicURL = urls[""]
			if own := urls[s.name]; own != "" {
				s.PublicURL = own
			}
		}
		if origin := c.origins[s.env]; !c.Dev && (origin == "" || origin == "default") {
			s.Addr = ""
		}
	}
}

// splitName takes a name apart; the port may be "".
func splitName(name string) (host, port string) {
	if host, port, err := net.SplitHostPort(name); err == nil {
		return host, port
	}
	return name, ""
}

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (c *Config) checkAddress() error {
	if _, err := c.Proxies(); err != nil {
		return err
	}
	if len(c.Domain) == 0 {
		return nil
	}
	for _, check := range []func() error{c.checkNames, c.checkCert, c.checkShared} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkNames: the first name is the domain, the others are below it.
func (c *Config) checkNames() error {
	if c.Dev && len(c.Domain) > 1 {
		return errors.New("BEEOS_DOMAIN has several names: beeos dev takes one, that of the tunnel to it")
	}
	var seen []string
	main, mainPort := splitName(c.Domain[0])
	for i, name := range c.Domain {
		host, port := splitName(name)
		if len(host) > 253 || !hostName.MatchString(host) || isIP(host) || strings.Trim(port, "0123456789") != "" {
			return fmt.Errorf("BEEOS_DOMAIN has %q, which is no host name: write it as bee.example.com, without https:// and path", name)
		}
		prefix, _ := strings.CutSuffix(host, main)
		switch {
		case slices.Contains(seen, host):
			return fmt.Errorf("BEEOS_DOMAIN has %s twice: keep it once", host)
		case i > 0 && !isSurfaceName(prefix):
			return fmt.Errorf("BEEOS_DOMAIN has %s, which serves nothing: the names below %s can be mcp., a2a., api., agents. and app.%s", host, main, main)
		case port != mainPort:
			return fmt.Errorf("BEEOS_DOMAIN has %s on another port than %s: all names are served at one", host, main)
		case c.Cert == CertACME && !c.Dev && !strings.Contains(host, "."):
			return fmt.Errorf("BEEOS_DOMAIN is %s, for which no public authority gives a certificate: set BEEOS_CERT to files of your own, or to off behind a proxy", host)
		}
		seen = append(seen, host)
	}
	return nil
}

func isIP(host string) bool { _, err := netip.ParseAddr(host); return err == nil }

func isSurfaceName(prefix string) bool {
	for _, p := range nameOf {
		if p == prefix {
			return true
		}
	}
	return false
}

func (c *Config) checkCert() error {
	if cert, key := c.CertFiles(); c.Cert != CertACME && c.Cert != CertOff && (cert == "" || key == "" || strings.Contains(key, ",")) {
		return errors.New("BEEOS_CERT is not acme, off, or FILE,KEYFILE: name the PEM file of the certificate and that of its key")
	}
	return checkURL("ACME_DIRECTORY", c.ACME.Directory)
}

// checkShared: one address has one URL, and one or two places to listen.
func (c *Config) checkShared() error {
	for _, s := range c.surfaces() {
		if origin := c.origins[s.urlEnv]; origin != "" && origin != "default" {
			return fmt.Errorf("BEEOS_DOMAIN gives every surface its URL, and %s is set as well: remove one of them", s.urlEnv)
		}
	}
	if len(c.Addr) > 2 || c.Cert == CertOff && len(c.Addr) > 1 {
		return errors.New("BEEOS_ADDR has too many addresses: name one for HTTPS and, unless BEEOS_CERT is off, one for HTTP")
	}
	for _, addr := range c.Addr {
		if err := checkAddr("BEEOS_ADDR", addr); err != nil {
			return err
		}
	}
	return nil
}
