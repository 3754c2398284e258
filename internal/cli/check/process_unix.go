//go:build unix

package check

import (
	"os/exec"
	"syscall"
)

func startGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } //nolint:errcheck // it is gone already

// askToStop asks a process to end, as a service manager does.
func askToStop(cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGTERM) }
