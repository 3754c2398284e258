package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// makePackages makes a deb and an rpm for every Linux, with the unit, the user and
// what the program writes about itself.
func (r *release) makePackages() error {
	nfpm := r.work("nfpm")
	build := exec.Command("go", "build", "-o", nfpm, "github.com/goreleaser/nfpm/v2/cmd/nfpm")
	build.Dir = filepath.Join(r.root, "tools", "packages")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build nfpm: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(r.root, "deploy", "packages", "nfpm.yaml"))
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		config := r.work("nfpm_" + t.arch + ".yaml")
		filled := strings.NewReplacer("@VERSION@", r.version, "@ARCH@", t.arch, "@PROGRAM@", r.program(t), "@EXTRAS@", r.work("extras"),
			"@TIME@", r.at.Format("2006-01-02T15:04:05Z")).Replace(string(text))
		if err := os.WriteFile(config, []byte(filled), 0o644); err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			pack := exec.Command(nfpm, "package", "--config", config, "--packager", kind, "--target", r.shipped(t, "."+kind))
			pack.Dir, pack.Stderr = r.root, os.Stderr
			pack.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
			if err := pack.Run(); err != nil {
				return fmt.Errorf("make the %s for %s: %w", kind, t, err)
			}
		}
	}
	return nil
}
