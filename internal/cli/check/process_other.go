//go:build !unix

package check

import "os/exec"

func startGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() } //nolint:errcheck // it is gone already

// askToStop fails: without signals nobody can be asked.
func askToStop(*exec.Cmd) error { return &missingError{"this system has no SIGTERM"} }
