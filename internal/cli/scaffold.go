package cli

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/cli/terminal"
)

const modulePath = "github.com/beeos/beeos"

//go:embed scaffold
var scaffold embed.FS

// AgentNewCmd writes a new agent.
type AgentNewCmd struct {
	Name string `arg:"" help:"Name of the agent and of its folder."`
	Dir  string `placeholder:"DIR" help:"Folder to write. Empty: ./NAME."`
	SDK  string `name:"sdk" placeholder:"DIR" help:"Checkout of BeeOS to build it with. Empty: the one around the folder, if any."`
}

var agentName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Validate is called by kong: what it finds is a matter of usage.
func (c *AgentNewCmd) Validate() error {
	if !agentName.MatchString(c.Name) {
		return fmt.Errorf("%q cannot be the name of an agent: use lower-case letters, digits and -, beginning with a letter", c.Name)
	}
	return nil
}

// Run writes the folder.
func (c *AgentNewCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	c.Dir = cmp.Or(c.Dir, c.Name)
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: choose another name, or another folder with --dir", c.Dir)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	mod, err := findModule(ctx, c.Dir, c.SDK)
	if err != nil {
		return err
	}
	facts := struct {
		Name string
		Mod  module
	}{c.Name, mod}
	for _, name := range []string{"main.go", "go.mod", "README.md"} {
		if err := writeTemplate(filepath.Join(c.Dir, name), "scaffold/"+name+".tmpl", facts); err != nil {
			return err
		}
	}
	if mod.Sum == "" { // as its README says
		t.Note("wrote %s; fetch what it is made of with: go -C %s mod tidy", c.Dir, formatFolder(c.Dir))
		t.Note("then run it with: %s agent run %s", programName(), formatFolder(c.Dir))
		return nil
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "go.sum"), []byte(mod.Sum), 0o644); err != nil {
		return fmt.Errorf("write go.sum: %w", err)
	}
	t.Note("wrote %s; run it with: %s agent run %s", c.Dir, programName(), formatFolder(c.Dir))
	return nil
}

func writeTemplate(path, tmpl string, facts any) error {
	t, err := template.ParseFS(scaffold, tmpl)
	if err != nil {
		return fmt.Errorf("scaffold: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, facts); err != nil {
		return fmt.Errorf("scaffold: %w", err)
	}
	text := b.Bytes()
	if strings.HasSuffix(path, ".go") {
		if text, err = format.Source(text); err != nil { // comments align with names
			return fmt.Errorf("scaffold: %w", err)
		}
	}
	return os.WriteFile(path, text, 0o644)
}

// formatFolder writes a folder so that nobody takes it for something else.
func formatFolder(dir string) string {
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, ".") {
		return dir
	}
	return "./" + dir
}

// module is what the go.mod of a new agent needs to know.
type module struct {
	Version string
	Replace string   // path of a checkout to use instead of a release
	Needs   []string // "path version" of what the SDK itself needs, known in a checkout
	Sum     string   // go.sum for those
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
		return module{Version: "v" + strings.TrimSuffix(beeos.Version, "-dev")}, nil
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
