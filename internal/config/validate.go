package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keptAtLeast is how long finished work has to stay: idempotency keys promise
// their callers a day.
const keptAtLeast = 24 * time.Hour

// Validate says in one sentence what is wrong with the configuration and what
// to do about it. Kong calls it while values that follow from others are not
// filled in yet; it is AfterApply that asks in earnest.
func (c *Config) Validate() error {
	if c.origins == nil {
		return nil
	}
	for _, check := range append(c.checks(), c.checkData) {
		if err := check(); err != nil {
			return c.inFile(err)
		}
	}
	return nil
}

// checks are those that do not look at the machine.
func (c *Config) checks() []func() error {
	return []func() error{c.checkAddress, c.checkSurfaces, c.checkPorts, c.checkStorage, c.checkFiles, c.checkNodes, c.checkSignIn, c.checkMail, c.checkModel, c.checkCalls, c.checkAdmin}
}

func (c *Config) checkSurfaces() error {
	for _, s := range c.surfaces() {
		if s.Addr != "" || !c.HasAddress() { // else it is reached at the one that all share
			if err := checkAddr(s.env, s.Addr); err != nil {
				return err
			}
		}
		if err := checkURL(s.urlEnv, s.PublicURL); err != nil {
			return err
		}
	}
	for _, o := range c.MCP.Origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || o != u.Scheme+"://"+u.Host {
			return fmt.Errorf("MCP_ORIGINS has %q, which is no origin: write it as https://host, without a path", o)
		}
	}
	return checkURL("MCP_WEB_LOGIN_URL", c.MCP.WebLoginURL)
}

func checkAddr(name, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%s is %q, which is not an address: write it as host:port, for example 127.0.0.1:8094 or :8094", name, addr)
	}
	return nil
}

func checkURL(name, value string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s is not a URL that others can use: write it as https://host or https://host/path", name)
	}
	return nil
}

// checkPorts finds two listeners on one port before the second fails to listen.
func (c *Config) checkPorts() error {
	type owner struct{ env, host string }
	taken := map[string][]owner{}
	all := c.surfaces()
	if !c.adminMoves {
		all = append(all, part{Surface: &Surface{Addr: c.AdminAddr}, env: "BEEOS_ADMIN_ADDR"})
	}
	if c.HasAddress() {
		for _, addr := range c.Addr {
			all = append(all, part{Surface: &Surface{Addr: addr}, env: "BEEOS_ADDR"})
		}
	}
	for _, s := range all {
		host, port, _ := net.SplitHostPort(s.Addr)
		if s.name != "" && !c.Runs(s.name) || port == "0" || port == "" {
			continue
		}
		for _, o := range taken[port] {
			if o.host == host || isWildcard(o.host) || isWildcard(host) {
				return fmt.Errorf("%s and %s both listen on port %s: give one of them another port", o.env, s.env, port)
			}
		}
		taken[port] = append(taken[port], owner{s.env, host})
	}
	return nil
}

func isWildcard(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || (err == nil && ip.IsUnspecified())
}

func (c *Config) checkStorage() error {
	if c.DatabaseURL != "" && !hasScheme(c.DatabaseURL, "postgres", "postgresql") {
		return errors.New("DATABASE_URL does not start with postgres://: write postgres://user:password@host/database, or leave it empty for SQLite in BEEOS_DATA")
	}
	if c.Retention != 0 && c.Retention < keptAtLeast {
		return fmt.Errorf("BEEOS_RETENTION is %s: keep finished work for at least 24h, or for ever with 0s", formatValue(c.Retention))
	}
	return nil
}

func (c *Config) checkData() error { return checkFolder(c.Data) }

// checkFiles: a bucket needs its address and both keys.
func (c *Config) checkFiles() error {
	s := c.S3
	if s.Endpoint == "" && s.AccessKey == "" && s.SecretKey == "" && s.Region == "" {
		return nil
	}
	if s.Endpoint == "" || s.AccessKey == "" || s.SecretKey == "" {
		return errors.New("S3_ENDPOINT, S3_ACCESS_KEY and S3_SECRET_KEY belong together: set all three, or none of S3_*")
	}
	if err := checkURL("S3_ENDPOINT", s.Endpoint); err != nil {
		return err
	}
	u, err := url.Parse(s.Endpoint)
	if bucket := strings.Trim(u.Path, "/"); err != nil || bucket == "" || strings.Contains(bucket, "/") {
		return errors.New("S3_ENDPOINT names no bucket: write it as https://s3.example.com/bucket")
	}
	return nil
}

// checkFolder makes sure that the folder can be written, or made.
func checkFolder(path string) error {
	if path == "" {
		return errors.New("BEEOS_DATA is empty: name a folder, for example ./beeos-data")
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
			continue
		case err != nil:
			return fmt.Errorf("BEEOS_DATA is %s, which cannot be opened (%w): choose a folder of this user", path, err)
		case !info.IsDir():
			return fmt.Errorf("BEEOS_DATA is %s, but %s is a file: choose a folder", path, dir)
		case !isWritable(dir):
			return fmt.Errorf("BEEOS_DATA is %s, but this user may not write in %s: change its owner or choose another folder", path, dir)
		}
		return nil
	}
}

func isWritable(dir string) bool {
	f, err := os.CreateTemp(dir, ".beeos-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

func (c *Config) checkNodes() error {
	for u := range strings.SplitSeq(c.NATSURL, ",") {
		if u != "" && !hasScheme(strings.TrimSpace(u), "nats", "tls", "ws", "wss") {
			return errors.New("NATS_URL does not start with nats://: write nats://host:4222, or leave it empty for the NATS inside this process")
		}
	}
	if c.ClusterAddr != "" {
		if err := checkAddr("BEEOS_CLUSTER_ADDR", c.ClusterAddr); err != nil {
			return err
		}
	}
	switch {
	case c.NATSURL != "" && c.ClusterAddr != "":
		return errors.New("NATS_URL and BEEOS_CLUSTER_ADDR are both set: keep NATS_URL for a NATS of your own, or BEEOS_CLUSTER_ADDR for the ones inside the nodes")
	case c.ClusterAddr != "" && c.DatabaseURL == "":
		return errors.New("BEEOS_CLUSTER_ADDR joins several nodes, which need one database: set DATABASE_URL as well")
	case len(c.Only) > 0 && (c.DatabaseURL == "" || (c.NATSURL == "" && c.ClusterAddr == "")):
		return errors.New("--only splits BeeOS over several processes, which share nothing else: set DATABASE_URL, and NATS_URL or BEEOS_CLUSTER_ADDR")
	}
	return nil
}

// hasScheme avoids url.Parse, whose errors repeat the password.
func hasScheme(s string, schemes ...string) bool {
	scheme, rest, _ := strings.Cut(s, "://")
	return rest != "" && slices.Contains(schemes, scheme)
}

// checkMail: a mail server wants to know who writes, and gets no password in the open.
func (c *Config) checkMail() error {
	if c.SMTP == (SMTP{}) {
		return nil
	}
	if c.SMTP.URL == "" || c.SMTP.From == "" {
		return errors.New("SMTP_URL and SMTP_FROM belong together: set both, or none of SMTP_*")
	}
	u, err := url.Parse(c.SMTP.URL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" {
		return errors.New("SMTP_URL does not start with smtp:// or smtps://: write smtp://user:password@host:587, or smtps://user:password@host:465")
	}
	if off := u.Query().Get("tls") == "off"; off && (u.User != nil || u.Scheme == "smtps") {
		return errors.New("SMTP_URL has ?tls=off, with which there can be neither smtps:// nor a password: leave one of them out")
	}
	if _, err := mail.ParseAddress(c.SMTP.From); err != nil {
		return errors.New("SMTP_FROM is no address: write it as bee@example.com, or BeeOS <bee@example.com>")
	}
	return nil
}

func (c *Config) checkSignIn() error {
	o := c.OIDC
	if o.Issuer == "" && o.ClientID == "" && o.ClientSecret == "" {
		return nil
	}
	if o.Issuer == "" || o.ClientID == "" {
		return errors.New("OIDC_ISSUER and OIDC_CLIENT_ID belong together: set both, or none of OIDC_*")
	}
	if err := checkURL("OIDC_ISSUER", o.Issuer); err != nil {
		return err
	}
	if u, err := url.Parse(o.Issuer); err != nil || u.Scheme != "https" && !isLoopback(net.JoinHostPort(u.Hostname(), "0")) {
		return errors.New("OIDC_ISSUER is not https: who listens on the way could sign in as anybody; use the provider's https URL")
	}
	return nil
}

func (c *Config) checkModel() error {
	if err := checkURL("LLM_URL", c.LLM.URL); err != nil {
		return err
	}
	if c.LLM.Provider == "anthropic" && c.LLM.APIKey == "" {
		return errors.New("LLM_PROVIDER is anthropic, which needs a key: set LLM_API_KEY or LLM_API_KEY_FILE")
	}
	if c.LLM != (LLM{}) && c.LLM.Provider != "scripted" && c.LLM.Model == "" {
		return errors.New("LLM_MODEL is empty: name the model that agents use when they do not name one")
	}
	return nil
}

func (c *Config) checkCalls() error {
	if c.RateLimit < 1 {
		return fmt.Errorf("BEEOS_RATE_LIMIT is %d: allow at least 1 call a minute", c.RateLimit)
	}
	if c.AnswerTokens < 1000 || c.AnswerTokens > 10_000_000 {
		return fmt.Errorf("BEEOS_ANSWER_TOKENS is %d: allow an answer from 1000 to 10000000 tokens", c.AnswerTokens)
	}
	if c.CallTimeout < time.Second || c.CallTimeout > time.Hour {
		return fmt.Errorf("BEEOS_CALL_TIMEOUT is %s: choose between 1s and 1h; longer work belongs in a task", formatValue(c.CallTimeout))
	}
	return nil
}

func (c *Config) checkAdmin() error {
	if c.AdminAddr == "" || c.AdminAddr == adminOff {
		return nil
	}
	if err := checkAddr("BEEOS_ADMIN_ADDR", c.AdminAddr); err != nil {
		return fmt.Errorf("%w, or off", err)
	}
	return nil
}

// Warnings lists what works but is probably not meant, one sentence each.
func (c *Config) Warnings() []string {
	var open []string
	for _, s := range c.surfaces() {
		if c.Runs(s.name) && s.Addr != "" && !isLoopback(s.Addr) && !strings.HasPrefix(s.PublicURL, "https://") {
			open = append(open, s.urlEnv)
		}
	}
	if open == nil {
		return nil
	}
	return []string{"keys and messages travel readable over the network: put a TLS proxy in front and set " + strings.Join(open, ", ") + " to https URLs"}
}

func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}
