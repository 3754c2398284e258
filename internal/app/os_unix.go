//go:build unix

package app

import (
	"errors"
	"os"
	"syscall"
)

// taken locks an open folder until it is closed, and reports whether another
// process was there first. Where folders cannot be locked, nobody was.
func taken(folder *os.File) bool {
	err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}
