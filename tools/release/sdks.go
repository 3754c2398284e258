package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// makeSDKs makes what pip and npm install: a wheel and a source archive in Python, a
// package in TypeScript, all of this version. What builds them comes from the
// registries of both, at the versions that the SDKs pin.
func (r *release) makeSDKs() error {
	return errors.Join(r.makePythonSDK(), r.makeTypeScriptSDK())
}

var buildRequires = regexp.MustCompile(`(?m)^requires = \["([^"]+)"\]$`)

func (r *release) makePythonSDK() error {
	dir, err := r.copySDK("python", "src", "tests", "README.md", "pyproject.toml")
	if err != nil {
		return err
	}
	manifest := filepath.Join(dir, "pyproject.toml")
	err = errors.Join(
		replaceIn(manifest, `(?m)^version = "[^"]+"$`, fmt.Sprintf("version = %q", r.version)),
		replaceIn(filepath.Join(dir, "src/beeos/_version.py"), `(?m)^__version__ = "[^"]+"$`, fmt.Sprintf("__version__ = %q", r.version)),
	)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	backend := buildRequires.FindSubmatch(text)
	if backend == nil {
		return fmt.Errorf("%s does not pin one package that builds it", manifest)
	}
	tools := r.work("sdk", "tools")
	python := filepath.Join(tools, "bin", "python")
	return r.runAll(dir,
		[]string{"python3", "-m", "venv", tools},
		[]string{python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", string(backend[1])},
		[]string{python, "-m", "hatchling", "build", "-d", r.out},
	)
}

func (r *release) makeTypeScriptSDK() error {
	dir, err := r.copySDK("typescript", "src", "README.md", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json")
	if err != nil {
		return err
	}
	err = errors.Join(
		replaceIn(filepath.Join(dir, "package.json"), `(?m)^  "version": "[^"]+",$`, fmt.Sprintf(`  "version": %q,`, r.version)),
		replaceIn(filepath.Join(dir, "src/version.ts"), `(?m)^export const version = "[^"]+";$`, fmt.Sprintf("export const version = %q;", r.version)),
	)
	if err != nil {
		return err
	}
	return r.runAll(dir,
		[]string{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"},
		[]string{"node", "node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"},
		[]string{"npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", r.out},
	)
}

// copySDK copies parts of an SDK to where they can be changed and built.
func (r *release) copySDK(language string, parts ...string) (dir string, err error) {
	dir = r.work("sdk", language)
	for _, part := range parts {
		from, to := filepath.Join(r.root, "sdk", language, part), filepath.Join(dir, part)
		info, err := os.Stat(from)
		if err != nil {
			return "", err
		}
		if info.IsDir() {
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				return "", err
			}
			continue
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(to, text, 0o644))
		}
		if err != nil {
			return "", err
		}
	}
	return dir, nil
}

// replaceIn writes something else in the place of what a pattern finds once.
func replaceIn(path, pattern, with string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	found := regexp.MustCompile(pattern).FindAllString(string(text), -1)
	if len(found) != 1 {
		return fmt.Errorf("%s has %d lines that say its version, want one", path, len(found))
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), found[0], with, 1)), 0o644)
}

// runAll runs one command after the other in a folder.
func (r *release) runAll(dir string, commands ...[]string) error {
	for _, c := range commands {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, out)
		}
	}
	return nil
}
