// Package tcp makes connections that notice when their other end has gone without a
// word: the machine lost its power, or the network swallows everything. The kernel
// asks after who is quiet (tcp.go), and gives up who does not acknowledge
// (limit_linux.go), both within ten seconds. It cannot tell that a process is frozen.
package tcp

import (
	"context"
	"net"
	"time"
)

const (
	quietFor       = 4 * time.Second
	askAgain       = 2 * time.Second
	askAtMost      = 3
	unacknowledged = 10 * time.Second
)

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: quietFor, Interval: askAgain, Count: askAtMost}

// Dial connects to an address; it may be a Unix socket's.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive, Control: limitUnacknowledged}
	return d.DialContext(ctx, network, address)
}

// Listen listens for such connections.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l := net.ListenConfig{KeepAliveConfig: keepAlive, Control: limitUnacknowledged}
	return l.Listen(ctx, "tcp", address)
}
