package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// fetcher is what brings a Python that this machine lacks.
const fetcher = "uv==0.13.8"

// Find returns a Python of a version, such as 3.10: one that is installed here, or
// else one that is fetched into the cache folder.
func Find(ctx context.Context, version string) (string, error) {
	if found := findInstalled(ctx, version); found != "" {
		return found, nil
	}
	python, err := Install(ctx, []byte(fetcher+"\n"))
	if err != nil {
		return "", err
	}
	uv := filepath.Join(filepath.Dir(python), "uv")
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	dir := filepath.Join(filepath.Dir(filepath.Dir(python)), "pythons")
	if err := run(ctx, uv, "python", "install", "--no-bin", "--install-dir", dir, version); err != nil {
		return "", fmt.Errorf("there is no Python %[1]s here, and none could be fetched: %[2]w\ninstall it so that python%[1]s is in the PATH, for example: pyenv install %[1]s", version, err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "bin", "python"+version))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("uv has put no Python %s into %s", version, dir)
	}
	return found[0], nil
}

// findInstalled looks in the PATH and where pyenv keeps its versions; "" = nowhere.
func findInstalled(ctx context.Context, version string) string {
	name := "python" + version
	candidates := []string{name}
	if home, err := os.UserHomeDir(); err == nil {
		kept, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", version+".*", "bin", name)) //nolint:errcheck // the pattern is good
		candidates = append(candidates, kept...)
	}
	for _, candidate := range candidates {
		// pyenv has a program of this name in the PATH also when it cannot be run.
		if out, err := exec.CommandContext(ctx, candidate, "-c", "import sys, ensurepip, venv; print(sys.executable)").Output(); err == nil && len(out) > 0 {
			return candidate
		}
	}
	return ""
}
