//go:build !unix

package database

import "net"

// isStale cannot be told here; connections are tried out when they have rested.
func isStale(net.Conn) bool { return false }
