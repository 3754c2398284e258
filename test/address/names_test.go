//go:build unix

package address

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// names is what leads where: host:port of a URL to an address of this machine.
var names sync.Map

// lead has a name lead to an address until the test ends.
func lead(t *testing.T, name, address string) {
	t.Helper()
	names.Store(name, address)
	t.Cleanup(func() { names.Delete(name) })
}

// dial is how all clients here find names.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	if to, known := names.Load(address); known {
		address = to.(string)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// transport is one with connections of its own.
func transport() *http.Transport { return http.DefaultTransport.(*http.Transport).Clone() }
