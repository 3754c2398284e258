package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const modulePath = "github.com/beeos/beeos"

// module is what the go.mod of a new agent needs to know.
type module struct {
	Version string
	Replace string   // path of a checkout to use instead of a release
	Needs   []string // "path version" of what the SDK itself needs, known in a checkout
	Sum     string   // go.sum for those
}

// findGoModule is findSDK for Go.
func findGoModule(ctx context.Context, f *facts, dir, sdk string) (more map[string]string, err error) {
	if f.Mod, err = findModule(ctx, dir, sdk); err != nil || f.Mod.Sum == "" {
		return nil, err
	}
	return map[string]string{"go.sum": f.Mod.Sum}, nil
}

// findModule finds out how an agent in dir gets the SDK: from a checkout, which
// works without a network, or from a release.
func findModule(ctx context.Context, dir, sdk string) (module, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return module{}, err
	}
	root := findCheckout(filepath.Dir(abs))
	if sdk != "" {
		if root, err = filepath.Abs(sdk); err != nil || findCheckout(root) != root {
			return module{}, fmt.Errorf("%s is not a checkout of %s", sdk, modulePath)
		}
	}
	if root == "" {
		return module{Version: "v" + releaseVersion()}, nil
	}
	m := module{Version: "v0.0.0", Replace: filepath.ToSlash(root)}
	if rel, err := filepath.Rel(abs, root); err == nil && sdk == "" {
		m.Replace = filepath.ToSlash(rel) // they move together
	}
	m.Needs, m.Sum = listNeeds(ctx, root)
	return m, nil
}

// findCheckout returns the folder at or above dir that holds this module.
func findCheckout(dir string) string {
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(b, []byte("module "+modulePath+"\n")) {
			return dir
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// listNeeds asks go which modules the SDK is made of. Without an answer the new
// agent needs a `go mod tidy` first, as its README says.
func listNeeds(ctx context.Context, root string) (mods []string, sum string) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", modulePath+"/agent")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, ""
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return nil, ""
	}
	mods = strings.Split(strings.TrimSpace(string(out)), "\n")
	mods = slices.DeleteFunc(mods, func(s string) bool { return s == "" })
	slices.Sort(mods)
	mods = slices.Compact(mods)
	for line := range strings.Lines(string(sums)) {
		for _, m := range mods {
			if strings.HasPrefix(line, m+" ") || strings.HasPrefix(line, m+"/go.mod ") {
				sum += line
			}
		}
	}
	return mods, sum
}
