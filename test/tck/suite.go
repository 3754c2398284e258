package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	repository = "https://github.com/a2aproject/a2a-tck"
	branch     = "1.0-dev"
)

// packages are what the suite imports.
var packages = []string{
	"pytest", "pytest-asyncio", "pytest-html", "httpx", "jsonschema", "protobuf", "grpcio", "googleapis-common-protos", "gherkin-official", "Jinja2",
}

// suite is the TCK on this machine.
type suite struct {
	dir    string
	python string
}

// getSuite takes the TCK from A2A_TCK_DIR, or clones it into the user's cache,
// and a Python that has its packages from A2A_TCK_PYTHON, or makes one.
func getSuite(ctx context.Context) (*suite, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache = filepath.Join(cache, "beeos")
	s := &suite{dir: os.Getenv("A2A_TCK_DIR"), python: os.Getenv("A2A_TCK_PYTHON")}
	if s.dir == "" {
		s.dir = filepath.Join(cache, "a2a-tck")
		if _, err := os.Stat(s.dir); err != nil {
			if err := command(ctx, "", "git", "clone", "--depth", "1", "--branch", branch, repository, s.dir); err != nil {
				return nil, fmt.Errorf("get the TCK, or name a folder that has it (branch %s) in A2A_TCK_DIR: %w", branch, err)
			}
		}
	}
	if s.python == "" {
		venv := filepath.Join(cache, "a2a-tck-python")
		s.python = filepath.Join(venv, "bin", "python")
		if _, err := os.Stat(s.python); err != nil {
			if err := command(ctx, "", "python3", "-m", "venv", venv); err != nil {
				return nil, fmt.Errorf("make a Python environment (python3 3.11 or newer with venv): %w", err)
			}
			if err := command(ctx, "", s.python, append([]string{"-m", "pip", "install", "-q"}, packages...)...); err != nil {
				return nil, fmt.Errorf("install what the TCK imports, or name a Python that has it in A2A_TCK_PYTHON: %w", err)
			}
		}
	}
	return s, nil
}

func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stderr, os.Stderr
	return c.Run()
}

// run runs the suite against an agent. That tests fail is a result; that there
// is no report is an error.
func (s *suite) run(ctx context.Context, agent, only, tmp string) (*report, error) {
	file := filepath.Join(tmp, "compatibility")
	args := []string{
		"-m", "pytest", "tests/compatibility", "-q", "--tb=line", "-p", "no:cacheprovider", "--sut-host=" + agent,
		"--transport=jsonrpc,http_json", "--compatibility-report=" + file,
	}
	if only != "" {
		args = append(args, "-k", only)
	}
	failed := command(ctx, s.dir, s.python, args...)
	names, _ := filepath.Glob(file + "*") //nolint:errcheck // the pattern is fine
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var r report
		if json.Unmarshal(raw, &r) == nil && len(r.PerRequirement) > 0 {
			return &r, nil
		}
	}
	return nil, fmt.Errorf("the TCK left no report: %w", failed)
}
