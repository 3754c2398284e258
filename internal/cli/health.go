package cli

import (
	"context"
	"net"
	"net/url"
	"time"

	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

// HealthCmd asks the server beside it whether it is well, for containers that have
// no other program to ask with.
type HealthCmd struct {
	config.Config `embed:""`
	Timeout       time.Duration `default:"5s" help:"How long it may take to answer."`
}

// Run asks the operator's listener of a server with the same settings. It says
// nothing when the server takes requests.
func (c *HealthCmd) Run(ctx context.Context) error {
	addr, _ := c.AdminListener()
	at, err := localURL(addr)
	if err != nil {
		return terminal.Hint("the server has no listener for the operator to ask", "set BEEOS_ADMIN_ADDR to HOST:PORT")
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := checkHealth(ctx, at+"/readyz"); err != nil {
		return terminal.AddHint(err, "see the server's log")
	}
	return nil
}

// localURL is where this machine reaches a listen address, without a name: a
// container need not know any.
func localURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || host == "localhost" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}).String(), nil
}
