package program

import "syscall"

// leash lets a process end with whoever started it, however that ends.
func leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
