//go:build !unix

package terminal

import "os/exec"

// endWithChildren does nothing: here only the process itself is ended.
func endWithChildren(*exec.Cmd) {}
