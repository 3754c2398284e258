// Package remote finds the server that a command talks to: the one that flags or
// environment name, or else the one that beeos dev runs on this machine.
package remote

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"strings"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// Server says which server a command talks to.
type Server struct {
	URL  string `env:"BEEOS_URL" placeholder:"URL" help:"REST surface of the server. Empty: the one that beeos dev runs here."`
	Key  string `env:"BEEOS_KEY" placeholder:"KEY" help:"API key. Empty: the one that beeos dev made."`
	Data string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder of beeos dev, to find its server."`
}

// ProvideClient returns the client for the server that flags, environment or
// dev.json name. Kong calls it for each Run that takes a client.
func (s *Server) ProvideClient() (*client.Client, error) {
	s.Key = strings.TrimSpace(s.Key) // files of keys end in a newline
	if err := CheckURL(s.URL); err != nil {
		return nil, err
	}
	if s.URL != "" && s.Key != "" {
		return client.New(s.URL, s.Key), nil
	}
	d, err := FindDev(s.Data)
	// dev's key belongs to dev's server; no other one may see it.
	elsewhere := s.URL != "" && (err != nil || client.New(s.URL, "").URL() != client.New(d.REST, "").URL())
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, terminal.AddHint(err, "start beeos dev again, or set BEEOS_URL and BEEOS_KEY")
	case elsewhere:
		return nil, terminal.Hint("no key for "+s.URL, "set BEEOS_KEY")
	case err != nil:
		return nil, terminal.Hint("no server is running from "+s.Data, "start one with: beeos dev, or set BEEOS_URL and BEEOS_KEY")
	}
	return client.New(cmp.Or(s.URL, d.REST), cmp.Or(s.Key, d.UserKey)), nil
}

// CheckURL refuses what cannot be the URL of a server; "" is none at all.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if text == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return terminal.Hint("BEEOS_URL, or --url, is not the URL of a server", "write it as http://host:8095 or https://host")
}
