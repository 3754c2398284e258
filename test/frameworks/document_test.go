//go:build unix

package frameworks

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentNamesVersions: what docs/reference/clients.md says was tested is what is
// pinned here. The first line of a file of requirements names what it is for.
func TestDocumentNamesVersions(t *testing.T) {
	document := string(read(t, "..", "..", "docs", "reference", "clients.md"))
	files, err := os.ReadDir("requirements")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`([a-z-]+)(?:\[[a-z0-9,]+\])?==([0-9.]+[0-9])`)
	for _, file := range files {
		tested, _, _ := strings.Cut(string(read(t, "requirements", file.Name())), "\n")
		found := pinned.FindAllStringSubmatch(tested, -1)
		if len(found) == 0 {
			t.Errorf("%s does not say in its first line what is tested", file.Name())
		}
		for _, m := range found {
			checkRow(t, document, m[1], m[2])
		}
	}
	for _, folder := range []string{"node", "node-heavy", "node-page", "node-claude"} {
		var manifest struct{ Dependencies map[string]string }
		if err := json.Unmarshal(read(t, folder, "package.json"), &manifest); err != nil {
			t.Fatal(err)
		}
		for name, version := range manifest.Dependencies {
			checkRow(t, document, name, version)
		}
	}
}

func checkRow(t *testing.T, document, name, version string) {
	t.Helper()
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(name) + `[ ,(][^|]*\| ` + regexp.QuoteMeta(version) + ` \|`)
	if !row.MatchString(document) {
		t.Errorf("docs/reference/clients.md has no row for %s %s, which is what is tested", name, version)
	}
}
