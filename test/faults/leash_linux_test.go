package faults

import "syscall"

// leash lets a process end with the test binary, however that ends.
func leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
