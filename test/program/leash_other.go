//go:build !linux

package program

import "syscall"

func leash() *syscall.SysProcAttr { return nil }
