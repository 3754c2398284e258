// Package settings is what every kind of bridge is given beside its own options,
// wherever these come from.
package settings

import (
	"cmp"
	"log/slog"
	"net/http"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/account"
)

// Bridge is what a bridge is given beside its own options.
type Bridge struct {
	Agent  agent.Options  // the agent: its name, where it serves
	Header http.Header    // sent along with every request; may hold secrets
	OAuth  account.Client // how to get into a server that wants tokens
	Args   []string       // more arguments for a program
	Dir    string         // where a program runs; empty = here
	Env    []string       // environment of a program; nil = ours
	Folder string         // of the file that describes the bridge; empty = the command line does
}

// Option is the name of an option as the operator wrote it.
func (s *Bridge) Option(name string) string {
	if s.Folder == "" {
		return "--" + name
	}
	return name
}

// Log is where the bridge reports.
func (s *Bridge) Log() *slog.Logger { return cmp.Or(s.Agent.Log, slog.Default()) }

// OAuthClient returns how to get into the server, nil if the header is all
// there is. Without a client that the operator has named, a bridge may still
// ask for consent, unless the header holds a credential.
func (s *Bridge) OAuthClient(mayAsk bool) *account.Client {
	if !s.OAuth.Named && (!mayAsk || !account.LacksCredential(s.Header)) {
		return nil
	}
	o := s.OAuth
	o.Name, o.Log = s.Agent.Name, s.Log()
	return &o
}
