package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSandboxNamesWhatIsMissing: bubblewrap, or a folder of its own.
func TestSandboxNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := New(Options{Folder: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Error(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, much := range []string{home, filepath.Dir(home), "/", "/etc"} {
		if err := checkFolder(much); err == nil || !strings.Contains(err.Error(), "give --cwd a folder of its own") {
			t.Errorf("%s: %v", much, err)
		}
	}
	own := filepath.Join(home, "project")
	if err := checkFolder(own); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(home, "made"), 0o700); err != nil {
		t.Fatal(err)
	}
	words, err := arguments("bwrap", Options{Folder: own, Write: []string{filepath.Join(home, "made")}})
	line := strings.Join(words, " ")
	if err != nil || !strings.Contains(line, "--tmpfs "+home+" --bind "+home+"/made "+home+"/made --bind "+own+" "+own) {
		t.Errorf("%s, %v", line, err)
	}
	if _, err := arguments("bwrap", Options{Folder: own, Read: []string{"/nowhere"}}); err == nil || !strings.Contains(err.Error(), "there is no /nowhere") {
		t.Error(err)
	}
	b := &Box{begin: []string{"bwrap"}}
	if got := strings.Join(b.Wrap([]string{"ls", "-l"}, "/x", "LD_PRELOAD=evil", "A=b=c"), " "); got != "bwrap --chdir /x --setenv LD_PRELOAD evil --setenv A b=c -- ls -l" {
		t.Error(got)
	}
}
