//go:build !linux

package faults

import "syscall"

func leash() *syscall.SysProcAttr { return nil }
