//go:build unix

package database

import (
	"errors"
	"net"
	"syscall"
)

// isStale reports whether something waits to be read on a connection that
// nothing was asked: the server's last words, or its end. It waits for nothing.
func isStale(conn net.Conn) bool {
	for {
		c, ok := conn.(interface{ NetConn() net.Conn }) // TLS, and what the pulse knows it by
		if !ok {
			break
		}
		conn = c.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	quiet := false
	err = raw.Control(func(fd uintptr) { // not Read: pgx may have left a reader there
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return err != nil || !quiet
}
