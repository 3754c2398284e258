package project

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/beeos/beeos/internal/cli/terminal"
)

//go:embed templates
var templates embed.FS

// NewCmd writes a new agent.
type NewCmd struct {
	Name string `arg:"" help:"Name of the agent and of its folder."`
	Lang string `enum:"go,python,typescript" default:"go" help:"Language: go, python or typescript."`
	Dir  string `placeholder:"DIR" help:"Folder to write. Empty: ./NAME."`
	SDK  string `name:"sdk" placeholder:"PATH" help:"SDK to build it with: for Go a checkout of BeeOS, for Python a wheel, for TypeScript a package (.tgz). Empty: the released one; for Go the checkout around the folder, if any."`
}

var agentName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Validate is called by kong: what it finds is a matter of usage.
func (c *NewCmd) Validate() error {
	if !agentName.MatchString(c.Name) {
		return fmt.Errorf("%q cannot be the name of an agent: use lower-case letters, digits and -, beginning with a letter", c.Name)
	}
	return nil
}

// Run writes the folder.
func (c *NewCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	c.Dir = cmp.Or(c.Dir, c.Name)
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: choose another name, or another folder with --dir", c.Dir)
	}
	lang := languages[c.Lang]
	f := &facts{Name: c.Name, Lang: c.Lang, Exec: fmt.Sprintf(execs[c.Lang], c.Name)}
	files, err := lang.findSDK(ctx, f, c.Dir, c.SDK)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	all := maps.Clone(inAll)
	maps.Copy(all, lang.templates)
	for name, tmpl := range all {
		if name == "agent.service" {
			name = c.Name + ".service"
		}
		if err := writeTemplate(filepath.Join(c.Dir, name), tmpl, f); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if install := lang.install(f, c.Dir); install != "" { // as its README says
		t.Note("wrote %s; fetch what it is made of with: %s", c.Dir, install)
		t.Note("then run it with: %s agent run %s", terminal.ProgramName(), formatFolder(c.Dir))
		return nil
	}
	t.Note("wrote %s; run it with: %s agent run %s", c.Dir, terminal.ProgramName(), formatFolder(c.Dir))
	return nil
}

func writeTemplate(path, name string, f *facts) error {
	t, err := template.ParseFS(templates, "templates/"+name+".tmpl")
	if err != nil {
		return fmt.Errorf("template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, f); err != nil {
		return fmt.Errorf("template: %w", err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// formatFolder writes a folder so that nobody takes it for something else.
func formatFolder(dir string) string {
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, ".") {
		return dir
	}
	return "./" + dir
}
