package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// program is where the program for a target lies until it is packed.
func (r *release) program(t target) string {
	name := "beeos"
	if t.os == "windows" {
		name += ".exe"
	}
	return r.work(t.os+"_"+t.arch, name)
}

// buildAll compiles the program for every target.
func (r *release) buildAll() error {
	for _, t := range r.targets {
		if err := errors.Join(r.build(t), r.weigh(t)); err != nil {
			return fmt.Errorf("build %s: %w", t, err)
		}
	}
	return nil
}

// build compiles for one target: no C, no path of this machine, no symbols, and
// nothing that differs from build to build; and no method that nobody calls (slim.go).
func (r *release) build(t target) error {
	if _, err := os.Stat(r.overlay()); err != nil {
		if err := r.slim(); err != nil {
			return fmt.Errorf("leave out what nobody calls: %w", err)
		}
	}
	cmd := exec.Command("go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-overlay", r.overlay(),
		"-ldflags=-s -w -buildid= -X github.com/beeos/beeos.Version="+r.version, "-o", r.program(t), "./cmd/beeos")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// extras are what the program writes about itself.
var extras = []struct {
	name string
	args []string
}{
	{"beeos.1", []string{"man"}},
	{"beeos.bash", []string{"completion", "-c", "bash"}},
	{"_beeos", []string{"completion", "-c", "zsh"}},
	{"beeos.fish", []string{"completion", "-c", "fish"}},
}

// writeExtras has the program for this machine write them.
func (r *release) writeExtras() error {
	host := target{runtime.GOOS, runtime.GOARCH}
	if _, err := os.Stat(r.program(host)); err != nil {
		if err := r.build(host); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.work("extras"), 0o755); err != nil {
		return err
	}
	for _, e := range extras {
		cmd := exec.Command(r.program(host), e.args...)
		cmd.Env = []string{"HOME=" + r.work(), "PATH=" + os.Getenv("PATH")}
		text, err := cmd.Output()
		if err != nil || len(text) == 0 {
			return fmt.Errorf("beeos %v says nothing: %w", e.args, errors.Join(err, errors.New("see above")))
		}
		if err := os.WriteFile(filepath.Join(r.work("extras"), e.name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
