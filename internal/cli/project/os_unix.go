//go:build unix

package project

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's signals away from cmd.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
