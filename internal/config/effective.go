package config

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Value is one setting as it stands.
type Value struct {
	Env    string `json:"env"`
	Flag   string `json:"flag"`   // without the dashes, its name in a file
	Value  string `json:"value"`  // credentials are masked
	Origin string `json:"origin"` // default, "file PATH:LINE", "env NAME" or "flag --name"
}

// Effective returns every setting, in the order of the manual.
func (c *Config) Effective() []Value {
	var all []Value
	secrets := c.secrets()
	for _, f := range c.flags() {
		v := Value{Env: f.Envs[0], Flag: "--" + f.Name, Value: formatValue(f.Target.Interface()), Origin: c.origins[f.Envs[0]]}
		if secrets[v.Env] != nil {
			v.Value = mask(v.Env, v.Value)
		}
		if v.Origin == "" {
			v.Origin = "default"
		}
		all = append(all, v)
	}
	return all
}

// formatValue is a value as a person would write it in a flag.
func formatValue(v any) string {
	switch v := v.(type) {
	case []string:
		return strings.Join(v, ",")
	case time.Duration:
		s := v.String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(s, zero) {
				s = s[:len(s)-2]
			}
		}
		return s
	}
	return fmt.Sprint(v)
}

// mask hides the credentials in a URL, or in a comma-separated list of them,
// and the whole of what is nothing but a secret.
func mask(name, list string) string {
	if list == "" {
		return ""
	}
	if strings.HasSuffix(name, "_SECRET") || strings.HasSuffix(name, "_KEY") { // there is nothing in it but the secret
		return "xxxxx"
	}
	urls := strings.Split(list, ",")
	for i, s := range urls {
		urls[i] = maskURL(s)
	}
	return strings.Join(urls, ",")
}

func maskURL(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" {
		return "xxxxx" // nobody knows which part of it is the secret
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), "xxxxx")
		} else if !strings.HasPrefix(u.Scheme, "postgres") {
			u.User = url.User("xxxxx") // NATS takes a token in this place
		}
	}
	q := u.Query()
	for name := range q {
		if strings.Contains(strings.ToLower(name), "password") {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.String()
}

// ourPrefixes are the prefixes under which an unknown variable is most likely a
// setting misspelt.
var ourPrefixes = []string{"BEEOS_", "MCP_", "A2A_", "OPENAPI_", "AGENT_GATEWAY_", "OIDC_", "S3_", "ACME_", "SMTP_"}

// UnknownEnv returns the environment variables that look like settings of
// ours and are not, sorted. Known lists further names that a command reads.
func UnknownEnv(known ...string) []string {
	var c Config
	for _, f := range c.flags() {
		known = append(known, f.Envs...)
	}
	for name := range c.secrets() {
		known = append(known, name+"_FILE")
	}
	var unknown []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		mine := slices.ContainsFunc(ourPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if mine && !strings.HasPrefix(name, "BEEOS_TEST_") && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
