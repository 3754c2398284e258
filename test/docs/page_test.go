//go:build unix

// Package docs keeps the documents true: what README.md and docs/how-to/agents.md
// tell people to type is typed here, the first screen that README.md shows is
// compared with the real one, and every command, setting and make target that
// any document names must exist.
//
// page_test.go reads documents, shell_test.go runs what they say;
// readme_test.go, agents_test.go, start_test.go, webhooks_test.go, operate_test.go
// (backups, several nodes, upgrades) and names_test.go are the tests.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repo is the root of the repository.
const repo = "../.."

// page is one document.
type page struct {
	name, text string
}

func read(t *testing.T, name string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repo, name))
	if err != nil {
		t.Fatal(err)
	}
	return page{name, string(text)}
}

// pages are all documents that people read.
func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	for _, pattern := range []string{"*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repo, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name, err := filepath.Rel(repo, path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, read(t, name))
		}
	}
	return all
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks are the fenced blocks of one language.
func (p page) blocks(language string) []string {
	var all []string
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		if m[1] == language {
			all = append(all, m[2])
		}
	}
	return all
}

// block is the first one of its language.
func (p page) block(t *testing.T, language string) string {
	t.Helper()
	all := p.blocks(language)
	if len(all) == 0 {
		t.Fatalf("%s has no %s block", p.name, language)
	}
	return all[0]
}

var code = regexp.MustCompile("`([^`\n]+(?:\n[^`\n]+)?)`")

// inline is what stands between single backquotes; a line may break there.
func (p page) inline() []string {
	var all []string
	for _, m := range code.FindAllStringSubmatch(fence.ReplaceAllString(p.text, ""), -1) {
		all = append(all, strings.Join(strings.Fields(m[1]), " "))
	}
	return all
}
