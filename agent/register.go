package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
)

// Register joins the gateway with the identity that the options name, making
// it first if need be, and returns the id of the new instance. Run does this
// by itself; Register is for those who set a machine up beforehand.
func Register(ctx context.Context, o Options) (instance string, err error) {
	g, err := o.gateway()
	if err != nil {
		return "", err
	}
	if err := g.join(ctx, o.Name); err != nil {
		return "", fmt.Errorf("agent %s: %w", o.Name, err)
	}
	return g.id.instance(g.base), nil
}

// Sign returns the Authorization header for one request to the gateway, for
// those who speak to it by hand. The path includes the query.
func Sign(o Options, method, path string, body []byte) (string, error) {
	g, err := o.gateway()
	if err != nil {
		return "", err
	}
	if g.id.instance(g.base) == "" {
		return "", fmt.Errorf("agent %s has not joined %s; register it first", o.Name, g.base)
	}
	return g.sign(method, path, body), nil
}

func (o Options) gateway() (*gateway, error) {
	if _, err := o.definition(); err != nil {
		return nil, err
	}
	return openGateway(o, cmp.Or(o.Log, slog.Default()))
}
