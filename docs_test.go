package beeos_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsAreShort: these are read by everybody, so they stay short.
func TestDocsAreShort(t *testing.T) {
	for _, doc := range []struct {
		path string
		most int
	}{
		{"README.md", 149},
		{"AGENTS.md", 60},
		{"docs/architecture.md", 120},
	} {
		if n := strings.Count(read(t, doc.path), "\n"); n > doc.most {
			t.Errorf("%s has %d lines, the limit is %d.\n\tMove detail to a page of its own and link to it.", doc.path, n, doc.most)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestDocsLinksResolve follows every relative link of every document.
func TestDocsLinksResolve(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), target)); err != nil {
				t.Errorf("%s links to %s, which does not exist.\n\tMend the link or write the page.", doc, m[1])
			}
		}
	}
}

// TestDocsListDecisions: a decision that the index does not name is lost.
func TestDocsListDecisions(t *testing.T) {
	index := read(t, "docs/adr/README.md")
	pages, err := filepath.Glob("docs/adr/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !strings.Contains(index, "("+filepath.Base(page)+")") {
			t.Errorf("docs/adr/README.md does not list %s.\n\tAdd a line for it.", page)
		}
		for _, part := range []string{"\n## Context\n", "\n## Decision\n", "\n## Consequences\n"} {
			if !strings.Contains(read(t, page), part) {
				t.Errorf("%s has no section %q", page, strings.TrimSpace(part))
			}
		}
	}
}

// TestDocsNameEveryPackage keeps the table of docs/architecture.md complete.
func TestDocsNameEveryPackage(t *testing.T) {
	page := read(t, "docs/architecture.md")
	seen := map[string]bool{}
	for _, s := range sources(t) {
		name := filepath.Base(s.dir)
		if s.dir == "" || seen[s.dir] || !ships(s.dir) || strings.HasPrefix(s.dir, "examples") {
			continue
		}
		seen[s.dir] = true
		if !strings.Contains(page, "`"+s.dir+"`") && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/architecture.md does not name package %s.\n\tAdd it to the table of packages.", s.dir)
		}
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && skipDir(p, d.Name()):
			return filepath.SkipDir
		case filepath.Ext(p) == ".md":
			all = append(all, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
