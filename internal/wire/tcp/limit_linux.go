package tcp

import (
	"strings"
	"syscall"
)

const tcpUserTimeout = 0x12 // the same on every processor

// limitUnacknowledged gives a connection up whose other end has not acknowledged
// what was sent to it. A kernel that cannot do it leaves that to the keep-alive.
func limitUnacknowledged(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	return c.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(unacknowledged.Milliseconds())) //nolint:errcheck // as above
	})
}
