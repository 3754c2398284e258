//go:build unix

package terminal

import (
	"os/exec"
	"syscall"
)

// endWithChildren has what cmd starts end with it.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
