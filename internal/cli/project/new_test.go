package project

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoProjectIsFormatted: the templates are in gofmt's format whatever the name is,
// so that the program needs no parser of Go.
func TestGoProjectIsFormatted(t *testing.T) {
	files, err := templates.ReadDir("templates/go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "weather", strings.Repeat("long-", 12)} {
		for _, file := range files {
			goFile := strings.TrimSuffix(file.Name(), ".tmpl")
			if filepath.Ext(goFile) != ".go" {
				continue
			}
			path := filepath.Join(t.TempDir(), goFile)
			if err := writeTemplate(path, "go/"+goFile, &facts{Name: name, Lang: "go"}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := format.Source(text); err != nil || !bytes.Equal(text, want) {
				t.Errorf("%s of %s is not formatted (%v):\n%s", goFile, name, err, text)
			}
		}
	}
}
