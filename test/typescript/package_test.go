//go:build unix

package typescript

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSources checks the types of the SDK and runs its own tests, the shared
// transcripts among them.
func TestSources(t *testing.T) {
	w := theWorkshop(t)
	if err := w.compile(t.Context(), w.dir, "-p", "tsconfig.json"); err != nil {
		t.Error(err)
	}
	out, err := run(t.Context(), w.dir, w.node, "--test", "--test-reporter=spec", "test/*.test.ts")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out[strings.LastIndex(out, "tests "):])
}

// TestPackage: what is packed is what people need, and nothing else.
func TestPackage(t *testing.T) {
	w := theProject(t)
	root := filepath.Join(w.project, "node_modules", "@beeos", "sdk")
	var names []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"package.json", "README.md", "dist/index.js", "dist/index.d.ts", "dist/client/client.d.ts"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "dist/") && name != "package.json" && name != "README.md" {
			t.Errorf("%s is packed", name)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err != nil || strings.Contains(string(manifest), `"dependencies"`) {
		t.Errorf("the package has dependencies: %v\n%s", err, manifest)
	}
}
