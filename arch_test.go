// Package beeos_test holds the house rules of the repository as tests: who may
// import whom, where each third party lives, how long a file may be, what a
// package has to say about itself, and what the documents promise.
package beeos_test

import (
	"cmp"
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

// levels are the folders of the tree, lowest first. A package may import what
// lies in a level below its own, and its neighbours within the level; the
// compiler keeps neighbours from going round in circles.
var levels = [][]string{
	{""}, // words: imports std alone
	{"internal/config", "internal/telemetry"},
	{"internal/wire"},                  // bytes in and out, bounded
	{"api", "docs", "agent", "client"}, // public: the contract, the manual, the SDK, the REST client
	{"internal/store"},                 // what is known: one database, a package per family of tables
	{"internal/engine"},                // what happens to a call
	{"internal/outward"},               // what we call: bridges, built-in agents, skill servers, models
	{"internal/access"},                // who may do what
	{"internal/surface"},               // doors: they translate
	{"internal/app"},                   // which parts run in a process
	{"internal/cli"},
	{"cmd"},
	{"examples", "test", "internal/store/storetest"}, // nothing above may import these
}

// apart are levels whose packages do not know each other: a surface never
// imports another one, nor does the SDK know the REST client.
var apart = []string{"internal/surface", "agent", "client", "api", "docs"}

// onlyFor names packages that a level above may not use freely.
var onlyFor = map[string]string{
	"internal/config":         "internal/app internal/cli test",
	"internal/app":            "internal/cli test",
	"agent":                   "internal/outward internal/app internal/cli examples test",
	"client":                  "internal/cli examples test",
	"internal/outward/bridge": "internal/cli test",
}

// livesIn says which folders may import a third party, so that replacing one
// is an edit in one place. The key is an import path or a prefix of it. Tests
// and their support import what they like; a third party that only they may
// use has an empty row.
var livesIn = map[string]string{
	// what holds the data
	"github.com/nats-io":           "internal/engine/bus",
	"modernc.org/sqlite":           "internal/store",
	"github.com/jackc/pgx/v5":      "internal/store",
	"github.com/pressly/goose/v3":  "internal/store",
	"github.com/minio/minio-go/v7": "internal/engine/blob",

	// protocols and models
	"github.com/coder/websocket":             "agent internal/surface/agentgateway",
	"github.com/google/jsonschema-go":        "internal/wire/schema",
	"github.com/a2aproject/a2a-go/v2":        "internal/surface/a2a internal/outward/bridge",
	"github.com/modelcontextprotocol/go-sdk": "internal/outward/skill internal/outward/oauthclient internal/outward/bridge",
	"github.com/sashabaranov/go-openai":      "internal/outward/llm internal/outward/bridge",
	"go.yaml.in/yaml/v3":                     "internal/config internal/outward/bridge internal/surface/mcp/catalog",

	// guards
	"github.com/golang-jwt/jwt/v5": "internal/access/oauth/tokens internal/outward/oauthclient",
	"github.com/coreos/go-oidc/v3": "internal/access/signin",
	"golang.org/x/crypto":          "internal/access/signin internal/wire/certs",
	"github.com/wneessen/go-mail":  "internal/wire/mail",
	"golang.org/x/oauth2":          "internal/access/signin internal/outward/oauthclient",
	"golang.org/x/time":            "internal/engine/quota",

	// what a process needs
	"golang.org/x/sync":                   "*",
	"github.com/prometheus/client_golang": "internal/telemetry",
	"go.opentelemetry.io":                 "internal/telemetry/trace",
	"google.golang.org/protobuf":          "internal/telemetry/trace",

	// what a person sees
	"github.com/alecthomas/kong": "internal/cli internal/config",
	"github.com/lmittmann/tint":  "internal/cli internal/telemetry",
	"charm.land/lipgloss/v2":     "internal/cli internal/telemetry",
	"github.com/yuin/goldmark":   "internal/surface/web",

	// tests alone
	"github.com/google/go-cmp":          "",
	"github.com/rogpeppe/go-internal":   "",
	"github.com/chromedp":               "",
	"github.com/johannesboyne/gofakes3": "",
	"github.com/getkin/kin-openapi":     "",
	"github.com/oasdiff/yaml":           "",
	"google.golang.org/grpc":            "",
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

// levelOf returns the level that a folder lies in, and the entry of the table
// that covers it.
func levelOf(dir string) (level int, entry string) {
	for i, entries := range slices.Backward(levels) { // storetest lies inside a level below its own
		for _, e := range entries {
			if within(dir, e) {
				return i, e
			}
		}
	}
	return -1, ""
}

// within reports whether dir is the folder or below it; the root has nothing
// below it.
func within(dir, folder string) bool {
	return dir == folder || folder != "" && strings.HasPrefix(dir, folder+"/")
}

// listed reports whether one of the folders in a row covers dir.
func listed(row, dir string) bool {
	return slices.ContainsFunc(strings.Fields(row), func(f string) bool { return f == "*" || within(dir, f) })
}

// ships reports whether a package is part of the product, not of its tests.
func ships(dir string) bool { return !listed("test internal/store/storetest", dir) }

func TestImportsGoDown(t *testing.T) {
	for _, s := range sources(t) {
		mine, entry := levelOf(s.dir)
		if mine < 0 {
			t.Errorf("%s: package %q is in no level.\n\tPut it into a folder of the table, or add a level there and in docs/architecture.md.", s.path, s.dir)
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
			theirs, _ := levelOf(dir)
			switch {
			case theirs > mine:
				t.Errorf("%s imports %s, which is above it.\n\tPass the value in from internal/app, move the code, or change the levels and say why in docs/adr.", s.path, dir)
			case theirs == mine && slices.Contains(apart, entry) && !sameRoom(s.dir, dir, entry):
				t.Errorf("%s imports %s: neighbours in %s do not know each other.\n\tMove what both need to a level below.", s.path, dir, entry)
			case !allowedFor(dir, s.dir):
				t.Errorf("%s imports %s, which onlyFor keeps for others.\n\tPass the value in from internal/app, or change the row and say why in docs/adr.", s.path, dir)
			}
		}
	}
}

// sameRoom reports whether two packages stand below the same folder of a level.
func sameRoom(a, b, entry string) bool {
	room := func(dir string) string {
		first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(dir, entry), "/"), "/")
		return first
	}
	return room(a) == room(b)
}

func allowedFor(dir, user string) bool {
	for kept, row := range onlyFor {
		if within(dir, kept) && !within(user, kept) && !listed(row, user) {
			return false
		}
	}
	return true
}

// TestTablesAreSound catches a misspelt row, which would allow nothing and so
// hide a rule.
func TestTablesAreSound(t *testing.T) {
	var folders []string
	for _, entries := range levels {
		folders = append(folders, entries...)
	}
	folders = append(folders, apart...)
	for key, row := range onlyFor {
		folders = append(append(folders, key), strings.Fields(row)...)
	}
	for _, row := range livesIn {
		folders = append(folders, strings.Fields(row)...)
	}
	for _, folder := range folders {
		if folder == "*" {
			continue
		}
		if info, err := os.Stat(filepath.FromSlash(cmp.Or(folder, "."))); err != nil || !info.IsDir() {
			t.Errorf("a table names %q, which is no folder", folder)
		}
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for party := range livesIn {
		if !strings.Contains(string(mod), party) {
			t.Errorf("livesIn names %s, which go.mod does not require", party)
		}
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
			} else if s.dir == "" || !listed(home, s.dir) {
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

// ownClients may make HTTP clients without package outbound: the SDK and the
// REST client run in other people's programs, talk to the one server that
// those name, and must not need anything internal. Spans go to the collector of
// whoever runs the server, from a level below outbound.
var ownClients = "agent client examples internal/wire/outbound internal/telemetry/trace"

// madeClients are the names of net/http that make or are a client.
var madeClients = []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}

// TestClientsComeFromOutbound: a client that somebody makes by hand dials
// whatever address it is given, and reads whatever comes back.
func TestClientsComeFromOutbound(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !ships(s.dir) || listed(ownClients, s.dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			var what ast.Expr
			switch n := n.(type) {
			case *ast.CompositeLit: // http.Client{…}
				what = n.Type
			case *ast.CallExpr: // new(http.Client)
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 {
					what = n.Args[0]
				}
			case *ast.ValueSpec: // var c http.Client
				what = n.Type
			case *ast.SelectorExpr:
				if slices.ContainsFunc(madeClients, func(name string) bool { return isOf(n, "http", name) }) {
					t.Errorf("%s: http.%s.\n\tTake a client from internal/wire/outbound: it is bounded and knows which addresses are forbidden.", s.at(n), n.Sel.Name)
				}
			}
			if isOf(what, "http", "Client") || isOf(what, "http", "Transport") {
				t.Errorf("%s: an HTTP client made by hand.\n\tTake one from internal/wire/outbound: it is bounded and knows which addresses are forbidden.", s.at(n))
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

func isCall(call *ast.CallExpr, receiver, name string) bool { return isOf(call.Fun, receiver, name) }

// isOf reports whether an expression is receiver.name.
func isOf(e ast.Expr, receiver, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
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
