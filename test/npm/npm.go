// Package npm installs what tests run that is not Go: the official MCP
// conformance suite, the official clients, a generator of SDKs, and a Node that
// is new enough for them. The versions are pinned by package-lock.json; they are installed once
// per user, in the cache folder, and shared by all who run the tests.
package npm

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

//go:embed package.json
var manifest []byte

//go:embed package-lock.json
var lock []byte

const installWithin = 5 * time.Minute

// Tools is a folder with everything in it.
type Tools struct{ Dir string }

// Install returns the tools, after it has installed them if they are not there.
func Install(ctx context.Context) (*Tools, error) {
	return ensure(ctx, manifest, lock)
}

// InstallLocked is Install for packages that only some tests need: those of a
// package.json and package-lock.json of their own. None of them may run
// anything while it is installed; some would report that it was.
func InstallLocked(ctx context.Context, manifest, lock []byte) (*Tools, error) {
	return ensure(ctx, manifest, lock, "--ignore-scripts")
}

func ensure(ctx context.Context, manifest, lock []byte, flags ...string) (*Tools, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("nowhere to install test tools: %w", err)
	}
	sum := sha256.Sum256(slices.Concat(manifest, lock))
	dir := filepath.Join(cache, "beeos", fmt.Sprintf("npm-%x", sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return &Tools{dir}, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, errors.New("npm is missing; run: apt-get install -y npm")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	// Beside its place, so that it is there whole or not at all.
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(fresh)
	if err := install(ctx, fresh, manifest, lock, flags); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // nobody else was faster
			return nil, err
		}
	}
	return &Tools{dir}, nil
}

func install(ctx context.Context, dir string, manifest, lock []byte, flags []string) error {
	for name, content := range map[string][]byte{"package.json": manifest, "package-lock.json": lock} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", append([]string{"ci", "--no-audit", "--no-fund"}, flags...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}

// Node is a command that runs a script in the tools' Node. Packages are looked
// up where the script is; Module names one in the tools' folder.
func (t *Tools) Node(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(t.Dir, "node_modules", ".bin", "node"), args...)
}

// Module is the path of a file in an installed package.
func (t *Tools) Module(path string) string {
	return filepath.Join(t.Dir, "node_modules", filepath.FromSlash(path))
}
