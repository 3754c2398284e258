//go:build release && linux

package deploy

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleasedSDKs makes the packages of the SDKs, twice, and installs each into an
// empty environment: the wheel, the source archive, and what npm gets.
func TestReleasedSDKs(t *testing.T) {
	out := makeRelease(t, "HEAD", version, "sdks,sums")
	again := makeRelease(t, "HEAD", version, "sdks,sums")
	first, err1 := os.ReadFile(filepath.Join(out, "checksums.txt"))
	second, err2 := os.ReadFile(filepath.Join(again, "checksums.txt"))
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(first, second) {
		t.Errorf("%v\n%s\n%s", err, first, second)
	}
	for _, name := range []string{"beeos-" + version + "-py3-none-any.whl", "beeos-" + version + ".tar.gz"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			python := filepath.Join(dir, "venv", "bin", "python")
			run(t, dir, nil, "python3", "-m", "venv", "venv")
			run(t, dir, nil, python, "-m", "pip", "install", "-q", "--no-compile", filepath.Join(out, name))
			said := run(t, dir, nil, python, "-c", "import beeos, beeos.adapters, importlib.metadata; print(beeos.__version__, importlib.metadata.version('beeos'), beeos.Agent('a').name)")
			if want := version + " " + version + " a\n"; said != want {
				t.Errorf("%q, want %q", said, want)
			}
		})
	}
	t.Run("npm", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module", "private": true}`), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, dir, nil, "npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", filepath.Join(out, "beeos-sdk-"+version+".tgz"))
		const program = `import { Agent, version } from "@beeos/sdk"; import { serve } from "@beeos/sdk/adapters"; console.log(version, new Agent("a").name, typeof serve)`
		if said := run(t, dir, nil, "node", "--input-type=module", "--eval", program); strings.TrimSpace(said) != version+" a function" {
			t.Errorf("%q", said)
		}
	})
}
