package help

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/beeos/beeos/docs"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/test/pagetest"
)

// site serves the manual to nobody in particular.
func site(t *testing.T) *page.Server {
	t.Helper()
	s := pagetest.NewServer(t, templates)
	err := Mount(Options{
		Pages: s, Files: docs.Files, PublicURL: "https://bee.example.com", MCPURL: "https://mcp.example.com", RESTURL: "https://rest.example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func get(t *testing.T, s *page.Server, path string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String(), w.Header()
}

func manual(t *testing.T) *library {
	t.Helper()
	l, err := loadLibrary(docs.Files, strings.NewReplacer())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestEveryFileIsAPage: a document that the contents do not list is found by
// nobody.
func TestEveryFileIsAPage(t *testing.T) {
	l := manual(t)
	n := 0
	err := fs.WalkDir(docs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		if l.pages[strings.TrimSuffix(name, ".md")] == nil {
			t.Errorf("docs/%s is not a page.\n\tAdd a line for it to docs/README.md (or docs/adr/README.md).", name)
		}
		return nil
	})
	if err != nil || n < 60 || n != len(l.pages) {
		t.Errorf("%d files, %d pages, %v", n, len(l.pages), err)
	}
	for _, d := range l.pages {
		if d.Title == "" || strings.ContainsAny(d.Title, "#\n") {
			t.Errorf("docs/%s.md does not begin with its title", d.Path)
		}
		if d.Part != nil && d.About == "" {
			t.Errorf("the contents say nothing of %s", d.Path)
		}
	}
}

var (
	href   = regexp.MustCompile(`href="([^"]+)"`)
	idOf   = regexp.MustCompile(`id="([^"]+)"`)
	source = regexp.MustCompile(`\]\((/[^)#]*)`)
)

// TestEveryLinkLeadsSomewhere follows all links of all pages, with their anchors,
// and of the Markdown of each. Those that leave the manual lead to files that
// there are.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	s, l := site(t), manual(t)
	paths := []string{root, root + "/search?q=webhook"}
	for _, d := range l.pages {
		paths = append(paths, d.URL())
	}
	ids := map[string]map[string]bool{}
	bodies := map[string]string{}
	open := func(path string) bool {
		path, _, _ = strings.Cut(path, "#")
		if ids[path] != nil {
			return true
		}
		code, body, _ := get(t, s, path)
		if code != http.StatusOK {
			return false
		}
		ids[path], bodies[path] = map[string]bool{}, body
		for _, m := range idOf.FindAllStringSubmatch(body, -1) {
			if ids[path][m[1]] {
				t.Errorf("%s has two elements with the id %s", path, m[1])
			}
			ids[path][m[1]] = true
		}
		return true
	}
	links := 0
	for _, path := range paths {
		if !open(path) {
			t.Errorf("%s cannot be opened", path)
			continue
		}
		for _, m := range href.FindAllStringSubmatch(bodies[path], -1) {
			target, ours := m[1], strings.HasPrefix(m[1], root) || strings.HasPrefix(m[1], "/llms")
			if strings.HasPrefix(target, "#") {
				target, ours = path+target, true
			}
			if file, out := strings.CutPrefix(target, repository); out {
				checkFile(t, path, file)
			}
			if !ours {
				continue
			}
			links++
			address, anchor, _ := strings.Cut(target, "#")
			if !open(address) || anchor != "" && !ids[address][anchor] {
				t.Errorf("%s links to %s, which is not there", path, target)
			}
		}
	}
	if links < 1000 {
		t.Errorf("only %d links were followed", links)
	}
	for _, d := range l.pages {
		code, text, h := get(t, s, markdownURL(d.URL()))
		if code != http.StatusOK || h.Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s as Markdown: %d %s", d.Path, code, h.Get("Content-Type"))
		}
		for _, m := range source.FindAllStringSubmatch(text, -1) {
			if code, _, _ := get(t, s, m[1]); code != http.StatusOK {
				t.Errorf("the Markdown of %s links to %s: %d", d.Path, m[1], code)
			}
		}
	}
}

// TestPagesAreSafe: nothing in a page needs what the policy refuses, and a mark
// of HTML in a document is no HTML in a page.
func TestPagesAreSafe(t *testing.T) {
	for _, d := range manual(t).pages {
		for _, bad := range []string{" style=", "<script", "<!--", "<img", "javascript:", "onclick="} {
			if strings.Contains(string(d.HTML), bad) {
				t.Errorf("%s contains %q", d.Path, bad)
			}
		}
	}
}

// TestPagesNameThisServer: lines to copy have its addresses; the reference has
// the defaults.
func TestPagesNameThisServer(t *testing.T) {
	s := site(t)
	if _, body, _ := get(t, s, "/help/how-to/connect-cursor"); !strings.Contains(body, "https://mcp.example.com/{agentId}/mcp") || strings.Contains(body, "localhost:8094") {
		t.Error("the lines for Cursor do not name this server")
	}
	if _, body, _ := get(t, s, "/help/reference/configuration"); !strings.Contains(body, "http://localhost:8094") {
		t.Error("the defaults are not the defaults")
	}
}

// TestSearchFinds: what people would type leads to where it is explained.
func TestSearchFinds(t *testing.T) {
	x := manual(t).index
	for question, want := range map[string]string{
		"agent_offline":           "/help/reference/errors#agent_offline",
		"offline":                 "/help/reference/errors#agent_offline",
		"BEEOS_CALL_TIMEOUT":      "/help/reference/configuration#calls",
		"cursor":                  "/help/how-to/connect-cursor",
		"restore a backup":        "/help/how-to/backup",
		"webhook signature":       "/help/how-to/webhooks",
		"kubernetes helm":         "/help/how-to/deploy-kubernetes",
		"first agent python":      "/help/start/agent-python",
		"glossary lane":           "/help/reference/glossary",
		"long calls":              "/help/reference/mcp#long-calls",
		"prometheus":              "/help/how-to/monitoring",
		"langgraph":               "/help/how-to/connect-langgraph",
		"<script>alert(1)":        "",
		"xyzzy":                   "",
		strings.Repeat("a ", 999): "",
	} {
		found := x.find(question)
		var urls []string
		for _, r := range found[:min(3, len(found))] {
			urls = append(urls, r.URL)
		}
		if got := strings.Join(urls, " "); want != "" && !strings.Contains(got+" ", want) {
			t.Errorf("%q finds %s, not %s among the first", question, got, want)
		}
		if question == "xyzzy" && len(found) > 0 {
			t.Errorf("%q finds %v", question, urls)
		}
	}
	found := x.find("webhook")
	if len(found) == 0 || len(found) > maxResults {
		t.Fatalf("%d results", len(found))
	}
	for _, r := range found {
		marked := strings.Contains(strings.ToLower(r.Heading+r.Page), "webhook")
		for _, p := range r.Snippet {
			marked = marked || p.Mark
		}
		if !marked || r.Heading == "" || r.Part == "" {
			t.Errorf("a result that does not show why: %+v", r)
		}
	}
	s := site(t)
	if code, body, _ := get(t, s, "/help/search?q=%3C%3E+webhook"); code != 200 || strings.Contains(body, "“<>") || !strings.Contains(body, "<mark>webhook") {
		t.Errorf("the page of results: %d", code)
	}
	if code, body, _ := get(t, s, "/help/search?q=xyzzy"); code != 200 || !strings.Contains(body, "Nothing in the manual") {
		t.Errorf("no results: %d", code)
	}
}

// TestModelsGetAList: llms.txt has a heading, a summary, and every page.
func TestModelsGetAList(t *testing.T) {
	code, text, h := get(t, site(t), "/llms.txt")
	if code != 200 || !strings.HasPrefix(text, "# BeeOS\n\n> ") || h.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %s\n%.80s", code, h.Get("Content-Type"), text)
	}
	for _, d := range manual(t).pages {
		line := "(https://bee.example.com" + markdownURL(d.URL()) + "): " + d.About
		if d.Part != nil && !strings.Contains(text, line) {
			t.Errorf("llms.txt does not list %s", line)
		}
	}
	if strings.Index(text, "## Optional") < strings.Index(text, "## Explanation") {
		t.Error("what can be left out is not last")
	}
}

// TestUnknownPages: who mistypes is told where the contents are.
func TestUnknownPages(t *testing.T) {
	s := site(t)
	for path, want := range map[string]int{
		"/help/nothing": 404, "/help/../go.mod": 307, "/help/how-to": 303, "/help/README": 404, "/help/docs.go": 404, "/help/how-to/": 404,
	} {
		if code, body, _ := get(t, s, path); code != want || code == 404 && !strings.Contains(body, "/help lists those that it has") {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// checkFile holds a link into the repository to what is in it.
func checkFile(t *testing.T, from, file string) {
	t.Helper()
	file, _, _ = strings.Cut(file, "#")
	if _, err := os.Stat(filepath.Join("../../../..", filepath.FromSlash(file))); err != nil {
		t.Errorf("%s links to %s of the repository, which is not there", from, file)
	}
}
