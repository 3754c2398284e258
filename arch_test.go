// Package beeos_test holds the house rules of the repository as tests: who may
// import whom, where each third party lives, how long a file may be, what a
// package has to say about itself, and what the documents promise.
package beeos_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module       = "github.com/beeos/beeos"
	maxFileLines = 500
	// libcVersion is the one that modernc.org/sqlite v1.60.1 was built and
	// tested with; any other may corrupt a database without a word.
	libcVersion = "v1.77.1"
)

// anything in a row means: no restriction.
const anything = "*"

// mayImport says which packages of ours a package may import. Everyone may
// import the root. A name stands for internal/<name>, or else for the folder
// itself. The rows go from words to capabilities, services, surfaces and the
// program; a package may only look upwards in this list. A row whose folder
// does not exist yet is a plan; a folder without a row is refused.
var mayImport = map[string]string{
	// words
	"":    "",
	"api": "",

	// public
	"agent":  "",
	"client": "",

	// capabilities
	"internal/config":    "",
	"internal/telemetry": "",
	"internal/httpd":     "telemetry",
	"internal/store":     "",
	"internal/ledger":    "store",
	"internal/bus":       "",
	"internal/blob":      "",
	"internal/llm":       "",

	// services
	"internal/auth":      "store",
	"internal/oauth":     "httpd auth store",
	"internal/invoke":    "store ledger bus blob",
	"internal/approval":  "store ledger bus",
	"internal/webhook":   "store ledger bus",
	"internal/protected": "",
	"internal/bridge":    "agent protected",
	"internal/skill":     "protected store",
	"internal/runtime":   "agent llm skill protected store",

	// surfaces; none imports another
	"internal/mcpgw":   "httpd auth oauth invoke store",
	"internal/a2agw":   "httpd auth invoke store webhook",
	"internal/restgw":  "api httpd auth oauth invoke store ledger blob webhook approval runtime skill",
	"internal/agentgw": "httpd auth invoke approval ledger bus store blob",
	"internal/web":     "httpd auth oauth invoke approval store ledger bus runtime skill",

	// the program
	"internal/app": anything,
	"internal/cli": "app config agent client bridge",
	"cmd/beeos":    "cli",

	// for tests and measurements; nothing above may import these
	"internal/pgtest":          "",
	"internal/apptest":         "app agent client config",
	"internal/store/storetest": "store pgtest",
	"internal/bench":           anything,
}

// subtrees name folders whose row covers everything below them.
var subtrees = map[string]string{
	"examples": "agent client",
	"bench":    anything,
	"test":     anything,
}

// testSupport is imported by tests and by itself, never by what ships.
var testSupport = []string{"internal/pgtest", "internal/apptest", "internal/store/storetest", "internal/bench", "bench", "test"}

// livesIn says which packages may import a third party, so that replacing one
// is an edit in one place. The key is an import path or a prefix of it. Tests
// and their support import what they like; a third party that only they may
// use has an empty row.
var livesIn = map[string]string{
	// what holds the data
	"github.com/nats-io":           "bus",
	"modernc.org/sqlite":           "store",
	"github.com/jackc/pgx/v5":      "store",
	"github.com/pressly/goose/v3":  "store",
	"github.com/minio/minio-go/v7": "blob",

	// protocols and models
	"github.com/coder/websocket":             "agent agentgw",
	"github.com/google/jsonschema-go":        "mcpgw",
	"github.com/a2aproject/a2a-go/v2":        "a2agw bridge",
	"github.com/modelcontextprotocol/go-sdk": "skill protected bridge",
	"github.com/sashabaranov/go-openai":      "llm bridge",
	"go.yaml.in/yaml/v3":                     "bridge",

	// guards
	"github.com/golang-jwt/jwt/v5": "auth oauth protected",
	"golang.org/x/crypto":          "auth",
	"golang.org/x/time":            "invoke",
	"code.dny.dev/ssrf":            "oauth webhook protected a2agw",

	// what a process needs
	"golang.org/x/sync":                   anything,
	"github.com/cenkalti/backoff/v5":      "agent bridge webhook",
	"github.com/prometheus/client_golang": "telemetry",
	"go.opentelemetry.io/otel":            "telemetry",

	// what a person sees
	"github.com/alecthomas/kong":        "cli config",
	"github.com/jotaen/kong-completion": "cli",
	"github.com/lmittmann/tint":         "cli telemetry",
	"charm.land/lipgloss/v2":            "cli telemetry",
	"github.com/yuin/goldmark":          "web",

	// tests alone
	"github.com/google/go-cmp":          "",
	"github.com/rogpeppe/go-internal":   "",
	"github.com/chromedp":               "",
	"github.com/johannesboyne/gofakes3": "",
	"github.com/getkin/kin-openapi":     "",
	"github.com/oasdiff/yaml":           "",
}

// badNames say nothing about what is inside.
var badNames = []string{
	"util", "utils", "common", "core", "manager", "managers",
	"helper", "helpers", "impl", "misc", "base", "shared",
}

// source is one parsed Go file of the module.
type source struct {
	path  string // slash-separated, relative to the root
	dir   string // "" is the root
	lines int
	test  bool
	file  *ast.File
	fset  *token.FileSet
}

func (s source) at(n ast.Node) token.Position { return s.fset.Position(n.Pos()) }

// imports returns the import paths of the file.
func (s source) imports() []string {
	var all []string
	for _, im := range s.file.Imports {
		all = append(all, strings.Trim(im.Path.Value, `"`))
	}
	return all
}

// sources parses every Go file of this module: no testdata, no hidden
// folders, no nested module such as tools.
func sources(t *testing.T) []source {
	t.Helper()
	fset := token.NewFileSet()
	var all []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && skipDir(p, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(p)
		dir := path.Dir(slash)
		if dir == "." {
			dir = ""
		}
		all = append(all, source{
			path: slash, dir: dir, test: strings.HasSuffix(p, "_test.go"),
			lines: strings.Count(string(text), "\n"), file: f, fset: fset,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func skipDir(p, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		slices.Contains([]string{"testdata", "vendor", "node_modules", "beeos-data", "bin"}, name) {
		return true
	}
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return err == nil
}

// row returns what the table says about a folder.
func row(dir string) (allowed string, ok bool) {
	if allowed, ok = mayImport[dir]; ok {
		return allowed, true
	}
	top, _, _ := strings.Cut(dir, "/")
	allowed, ok = subtrees[top]
	return allowed, ok
}

// ships reports whether a package is part of the product, not of its tests.
func ships(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return !slices.Contains(testSupport, dir) && !slices.Contains(testSupport, top)
}

// folder turns a word of a row into a folder of the module.
func folder(name string) string {
	if _, ok := mayImport["internal/"+name]; ok {
		return "internal/" + name
	}
	return name
}

// lists reports whether a row names the folder.
func lists(row, dir string) bool {
	if row == anything {
		return true
	}
	return slices.ContainsFunc(strings.Fields(row), func(name string) bool { return folder(name) == dir })
}

func TestImportTable(t *testing.T) {
	for _, s := range sources(t) {
		allowed, ok := row(s.dir)
		if !ok {
			t.Errorf("%s: package %q has no row in mayImport.\n\tA new package earns its line: add it there and in docs/architecture.md, or put the code into a package that exists.", s.path, s.dir)
			continue
		}
		if s.test {
			continue
		}
		for _, im := range s.imports() {
			dir, ours := strings.CutPrefix(im, module+"/")
			if !ours {
				continue // the root, std or a third party
			}
			if s.dir == "" {
				t.Errorf("%s imports %s: the root package holds words and imports std alone.\n\tMove the code down into the package it needs.", s.path, dir)
			} else if !lists(allowed, dir) {
				t.Errorf("%s imports %s, which its row does not allow (%q).\n\tPass the value in from internal/app, move the code, or change mayImport and say why in docs/adr.", s.path, dir, allowed)
			} else if ships(s.dir) && !ships(dir) {
				t.Errorf("%s imports %s, which is for tests.\n\tImport it from a _test.go file.", s.path, dir)
			}
		}
	}
}

// TestTablesAreSound catches a misspelt row, which would allow nothing and so
// hide a rule.
func TestTablesAreSound(t *testing.T) {
	check := func(table, key, row string) {
		for _, name := range strings.Fields(row) {
			if _, ok := mayImport[folder(name)]; !ok && name != anything {
				t.Errorf("%s[%q] names %q, which has no row in mayImport", table, key, name)
			}
		}
	}
	for key, row := range mayImport {
		check("mayImport", key, row)
	}
	for key, row := range subtrees {
		check("subtrees", key, row)
	}
	for key, row := range livesIn {
		check("livesIn", key, row)
	}
}

func TestThirdPartiesStayHome(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !ships(s.dir) {
			continue
		}
		for _, im := range s.imports() {
			host, _, _ := strings.Cut(im, "/")
			if !strings.Contains(host, ".") || im == module || strings.HasPrefix(im, module+"/") {
				continue // std, or ours
			}
			home, ok := homeOf(im)
			if !ok {
				t.Errorf("%s imports %s, a third party without a row in livesIn.\n\tUse what go.mod has; if it must be, add the row and the reason.", s.path, im)
			} else if s.dir == "" || !lists(home, s.dir) {
				t.Errorf("%s imports %s, which lives in %q.\n\tCall that package, or change livesIn.", s.path, im, home)
			}
		}
	}
}

func homeOf(im string) (home string, ok bool) {
	for prefix, home := range livesIn {
		if im == prefix || strings.HasPrefix(im, prefix+"/") {
			return home, true
		}
	}
	return "", false
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines > maxFileLines {
			t.Errorf("%s has %d lines, the limit is %d.\n\tSplit it by noun: one file per thing it is about.", s.path, s.lines, maxFileLines)
		}
	}
}

// TestPackagesIntroduceThemselves wants, per package, one comment that opens
// with "Package name" (a program's may open as it likes). A test file speaks
// for a package only where there is nothing but tests.
func TestPackagesIntroduceThemselves(t *testing.T) {
	all := sources(t)
	hasCode := map[string]bool{}
	for _, s := range all {
		hasCode[s.dir] = hasCode[s.dir] || !s.test
	}
	described := map[string]bool{} // folder -> has its comment
	for _, s := range all {
		if s.test && hasCode[s.dir] {
			continue
		}
		name, doc := s.file.Name.Name, s.file.Doc.Text()
		fine := strings.HasPrefix(doc, "Package "+name+" ") || name == "main" && doc != ""
		described[s.dir] = described[s.dir] || fine
	}
	for dir, fine := range described {
		if !fine {
			t.Errorf("./%s has no package comment.\n\tOpen one file with \"// Package %s …\": a paragraph from which a stranger could guess the files.", dir, path.Base(dir))
		}
	}
}

func TestPackageNamesSaySomething(t *testing.T) {
	for _, s := range sources(t) {
		for _, part := range slices.Compact(append(strings.Split(s.dir, "/"), s.file.Name.Name)) {
			if slices.Contains(badNames, part) {
				t.Errorf("%s: %q is no name for a package.\n\tName it after the noun it is about.", s.path, part)
			}
		}
	}
}

// TestNobodySleeps keeps time.Sleep out of what ships: it cannot be cancelled
// and a test cannot move it.
func TestNobodySleeps(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !ships(s.dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isCall(call, "time", "Sleep") {
				t.Errorf("%s: time.Sleep.\n\tWait in a select on a timer and ctx.Done().", s.at(call))
			}
			return true
		})
	}
}

// TestNobodySkips: a test that needs a program installs it or fails with the
// command that does. Only slow tests may step aside, and only for -short.
func TestNobodySkips(t *testing.T) {
	for _, s := range sources(t) {
		var short []*ast.IfStmt
		ast.Inspect(s.file, func(n ast.Node) bool {
			if branch, ok := n.(*ast.IfStmt); ok && mentionsShort(branch.Cond) {
				short = append(short, branch)
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || !isSkip(call) {
				return true
			}
			inShort := slices.ContainsFunc(short, func(b *ast.IfStmt) bool {
				return b.Body.Pos() <= call.Pos() && call.End() <= b.Body.End()
			})
			if !inShort {
				t.Errorf("%s: a skipped test proves nothing.\n\tSet up what it needs or t.Fatal with the command that does; `if testing.Short()` may skip a slow one; a fuzz body returns.", s.at(call))
			}
			return true
		})
	}
}

func isCall(call *ast.CallExpr, receiver, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == receiver
}

func isSkip(call *ast.CallExpr) bool {
	for _, receiver := range []string{"t", "b", "f", "tb"} {
		if isCall(call, receiver, "Skip") || isCall(call, receiver, "Skipf") || isCall(call, receiver, "SkipNow") {
			return true
		}
	}
	return false
}

func mentionsShort(cond ast.Expr) bool {
	found := false
	ast.Inspect(cond, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isCall(call, "testing", "Short") {
			found = true
		}
		return !found
	})
	return found
}

func TestLibcIsSQLites(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^\s*(?:require )?modernc\.org/libc (\S+)`).FindSubmatch(text)
	if m == nil {
		t.Fatal("go.mod does not name modernc.org/libc.\n\tRun: go mod tidy")
	}
	if got := string(m[1]); got != libcVersion {
		t.Errorf("go.mod has modernc.org/libc %s; SQLite was tested with %s.\n\tUndo the bump that pulled it in, or bump modernc.org/sqlite and libcVersion together.", got, libcVersion)
	}
}
