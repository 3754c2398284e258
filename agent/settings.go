package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const defaultGateway = "http://localhost:8083"

// settings is where the agent serves and what it may join with. Options come
// first, then the environment, then the file that `beeos dev` leaves for the
// agents on its machine.
type settings struct {
	gateway  string
	identity string
	key      string
	token    string
	dev      string // path of dev.json
}

// credential is one way to join.
type credential struct {
	token, key string
	from       string // for people
	local      bool   // from dev.json, which may be rewritten any moment
}

// devFile is what `beeos dev` writes into its data folder.
type devFile struct {
	Agents  string `json:"agents"`
	UserKey string `json:"user_key"`
}

func findSettings(o Options) (settings, error) {
	s := settings{
		gateway: cmp.Or(o.Gateway, os.Getenv("AGENT_GATEWAY_URL")),
		key:     cmp.Or(o.Key, os.Getenv("BEEOS_KEY")),
		token:   cmp.Or(o.JoinToken, os.Getenv("BEEOS_JOIN_TOKEN")),
		dev:     filepath.Join(cmp.Or(os.Getenv("BEEOS_DATA"), "beeos-data"), "dev.json"),
	}
	dev, _ := readDev(s.dev) // not there: not the machine of `beeos dev`
	if s.gateway == "" {
		s.gateway = cmp.Or(dev.Agents, defaultGateway)
	}
	s.gateway = strings.TrimRight(s.gateway, "/")
	u, err := url.Parse(s.gateway)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return s, fmt.Errorf("agent %s: the gateway %q is not an http:// or https:// address; check AGENT_GATEWAY_URL", o.Name, s.gateway)
	}
	s.identity = o.Identity
	if s.identity == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return s, fmt.Errorf("agent %s: nowhere to keep the identity; set Options.Identity to a file: %w", o.Name, err)
		}
		s.identity = filepath.Join(folder, "beeos", "agents", fileName(o.Name)+".json")
	}
	return s, nil
}

// credential returns what to join with. dev.json is read each time: it is
// rewritten when the data folder was wiped. Its key goes to its own gateway
// and to no other.
func (s settings) credential() (credential, error) {
	switch {
	case s.token != "":
		return credential{token: s.token, from: "the join token"}, nil
	case s.key != "":
		return credential{key: s.key, from: "the user key"}, nil
	}
	dev, err := readDev(s.dev)
	if err == nil && dev.UserKey != "" && sameGateway(dev.Agents, s.gateway) {
		return credential{key: dev.UserKey, from: s.dev, local: true}, nil
	}
	return credential{}, fmt.Errorf("nothing to join %s with: run `beeos dev` here (it writes %s), or set BEEOS_KEY to a user key (oag_…), or BEEOS_JOIN_TOKEN to a one-time token of `beeos agent token`", s.gateway, s.dev)
}

func readDev(path string) (dev devFile, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return dev, err
	}
	if err := json.Unmarshal(text, &dev); err != nil {
		return dev, fmt.Errorf("read %s: %w", path, err)
	}
	return dev, nil
}

// sameGateway compares addresses; the names of this machine are one.
func sameGateway(a, b string) bool {
	local := strings.NewReplacer("://127.0.0.1", "://localhost", "://[::1]", "://localhost")
	return local.Replace(strings.TrimRight(a, "/")) == local.Replace(b)
}

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// fileName makes a file name out of an agent's name. Two names never share
// one, for then the agents would share an identity.
func fileName(name string) string {
	safe := notInFileNames.ReplaceAllString(name, "-")
	if safe == name {
		return name
	}
	return fmt.Sprintf("%s-%x", safe, sha256.Sum256([]byte(name)))[:len(safe)+9]
}
