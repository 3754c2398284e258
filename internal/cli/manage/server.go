package cli

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
)

// ownEnv are the variables that commands read beside the settings of the
// server; the agent ones are read by the agents that they start.
var ownEnv = []string{
	"BEEOS_URL", "BEEOS_KEY", "BEEOS_JOIN_TOKEN", "BEEOS_WEBHOOK_SECRET", "BEEOS_WEBHOOK_TOKEN",
	"BEEOS_BRIDGE_TOKEN", "BEEOS_BRIDGE_TOKEN_FILE",
	"BEEOS_OAUTH_SECRET", "BEEOS_OAUTH_SECRET_FILE", "BEEOS_OAUTH_KEY", "BEEOS_OAUTH_KEY_FILE",
}

// server says which server a command talks to.
type server struct {
	URL  string `env:"BEEOS_URL" placeholder:"URL" help:"REST surface of the server. Empty: the one that beeos dev runs here."`
	Key  string `env:"BEEOS_KEY" placeholder:"KEY" help:"API key. Empty: the one that beeos dev made."`
	Data string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder of beeos dev, to find its server."`
}

// client returns the client for the server that flags, environment or
// dev.json name.
func (s *server) client() (*client.Client, error) {
	s.Key = strings.TrimSpace(s.Key) // files of keys end in a newline
	if err := checkURL(s.URL); err != nil {
		return nil, err
	}
	if s.URL != "" && s.Key != "" {
		return client.New(s.URL, s.Key), nil
	}
	d, err := app.ReadDevFile(s.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.URL != "":
		return nil, hinted{errors.New("no key for " + s.URL), "set BEEOS_KEY"}
	case errors.Is(err, fs.ErrNotExist):
		return nil, hinted{errors.New("no server is running from " + s.Data), "start one with: beeos dev, or set BEEOS_URL and BEEOS_KEY"}
	case err != nil:
		return nil, hinted{err, "start beeos dev again, or set BEEOS_URL and BEEOS_KEY"}
	}
	switch {
	case s.URL == "" && s.Key == "":
		return client.New(d.REST, d.UserKey), nil
	case s.URL == "":
		return client.New(d.REST, s.Key), nil
	case client.New(s.URL, "").URL() == client.New(d.REST, "").URL():
		return client.New(s.URL, d.UserKey), nil
	}
	// dev's key belongs to dev's server; no other one may see it.
	return nil, hinted{errors.New("no key for " + s.URL), "set BEEOS_KEY"}
}

// checkURL refuses what cannot be the URL of a server; "" is none at all.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if text == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return hinted{errors.New("BEEOS_URL, or --url, is not the URL of a server"), "write it as http://host:8095 or https://host"}
}

// program is how this program was most likely called, for commands that a
// person may copy.
func program() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/beeos"
	}
	return "beeos"
}
