//go:build !linux

package tcp

import "syscall"

// limitUnacknowledged is Linux's; elsewhere the keep-alive has to do.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
