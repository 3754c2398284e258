package beeos_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

var update = flag.Bool("update", false, "write the generated documents instead of comparing them")

// TestDocsListPackages keeps docs/reference/packages.md what the packages say of
// themselves: the first sentence of each package comment, level by level.
func TestDocsListPackages(t *testing.T) {
	const page = "docs/reference/packages.md"
	says := map[string]string{}
	for _, s := range sources(t) {
		if doc := s.file.Doc.Text(); doc != "" && s.dir != "" && (!s.test || says[s.dir] == "") {
			says[s.dir] = firstSentence(doc)
		}
	}
	var b strings.Builder
	b.WriteString("# Packages\n\nEvery package with the first sentence of its comment, from the lowest level to the highest; `go doc ./FOLDER`\n" +
		"has the rest. This page is generated: change the comment, then run `go test . -update`.\n")
	for _, level := range levels {
		for _, entry := range level {
			dirs := slices.Sorted(maps.Keys(says))
			dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !within(dir, entry) })
			if len(dirs) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n## %s\n\n| package | |\n|---|---|\n", entry)
			for _, dir := range dirs {
				fmt.Fprintf(&b, "| `%s` | %s |\n", dir, says[dir])
			}
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, page) != b.String() {
		t.Errorf("%s is not what the packages say.\n\tRun: go test . -update", page)
	}
}

// firstSentence is what a package comment says after its name, up to the first
// full stop, or colon where the sentence is long.
func firstSentence(doc string) string {
	text := strings.Join(strings.Fields(doc), " ")
	if words := strings.SplitN(text, " ", 3); len(words) == 3 && words[0] == "Package" {
		text = words[2]
	}
	text, _, _ = strings.Cut(text, ". ")
	if head, _, ok := strings.Cut(text, ": "); ok && len(text) > 160 { // the rest is a list of files
		text = head
	}
	return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", "\\|")
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
