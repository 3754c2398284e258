// Package python installs the Python that tests run: a virtual environment per
// file of requirements, made once per user, in the cache folder, beside what
// package npm installs (python.go). Find has interpreters of other versions (find.go).
package python

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const installWithin = 10 * time.Minute

// Install returns a Python that has what the requirements say, after it has
// installed them if they are not there.
func Install(ctx context.Context, requirements []byte) (python string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("nowhere to install Python packages: %w", err)
	}
	sum := sha256.Sum256(requirements)
	dir := filepath.Join(cache, "beeos", fmt.Sprintf("python-%x", sum[:6]))
	python, done := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return python, nil
	}
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	if err := run(ctx, "python3", "-m", "venv", dir); err != nil {
		return "", fmt.Errorf("%w\nis python3-venv there? apt-get install -y python3-venv", err)
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return "", err
	}
	// Compiling what nobody imports takes as long as everything else.
	if err := run(ctx, python, "-m", "pip", "install", "-q", "--no-compile", "-r", list); err != nil {
		return "", err
	}
	return python, os.WriteFile(done, nil, 0o644)
}

func run(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
