//go:build unix

package typescript

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	runOwnTests(t, w, w.dir)
}

// TestPackedTests checks the types of the SDK's own tests and runs them once more, with
// what was packed and installed in place of the sources.
func TestPackedTests(t *testing.T) {
	w := theProject(t)
	dir := filepath.Join(filepath.Dir(w.dir), "packed") // beside the spec, which the tests read
	modules := filepath.Join(dir, "node_modules")
	if err := errors.Join(os.MkdirAll(modules, 0o700), os.Mkdir(filepath.Join(dir, "test"), 0o700)); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"@beeos": filepath.Join(w.project, "node_modules", "@beeos")}
	installed, err := os.ReadDir(w.packages.Module(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range installed {
		links[d.Name()] = w.packages.Module(d.Name())
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(modules, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"package.json", "tsconfig.json"} { // under another name: a package finds itself first
		copyFile(t, filepath.Join(w.dir, name), filepath.Join(dir, name), strings.NewReplacer(`"@beeos/sdk"`, `"packed"`))
	}
	packed := strings.NewReplacer(`"../src/index.ts"`, `"@beeos/sdk"`, `"../src/adapters/index.ts"`, `"@beeos/sdk/adapters"`)
	inside := regexp.MustCompile(`"\.\./src/(.*)\.ts"`) // of the package: what it does not export
	tests, err := filepath.Glob(filepath.Join(w.dir, "test", "*.ts"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	for _, path := range tests {
		to := filepath.Join(dir, "test", filepath.Base(path))
		copyFile(t, path, to, packed)
		text, err := os.ReadFile(to)
		if err == nil {
			err = os.WriteFile(to, inside.ReplaceAll(text, []byte(`"../node_modules/@beeos/sdk/dist/$1.js"`)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.compile(t.Context(), dir, "-p", "tsconfig.json"); err != nil {
		t.Error(err)
	}
	runOwnTests(t, w, dir)
}

func copyFile(t *testing.T, from, to string, change *strings.Replacer) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, []byte(change.Replace(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runOwnTests runs the SDK's own tests in a folder, and sees that there were some.
func runOwnTests(t *testing.T, w *workshop, dir string) {
	t.Helper()
	out, err := run(t.Context(), dir, w.node, "--test", "--test-reporter=spec", "test/*.test.ts")
	if err != nil {
		t.Fatal(err)
	}
	summary := out[strings.LastIndex(out, "tests "):]
	t.Log(summary)
	if count, err := strconv.Atoi(strings.Fields(summary)[1]); err != nil || count < 60 {
		t.Errorf("only %d tests ran, %v", count, err)
	}
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
