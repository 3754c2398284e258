package docs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/docs"
	"github.com/beeos/beeos/internal/wire/httpd"
)

var update = flag.Bool("update", false, "write reference/errors.md")

// vocabulary reads the codes out of the source, so that a new one cannot be
// forgotten here.
func vocabulary(t *testing.T) (all []beeos.Code) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, beeos.Code(code))
		}
		return true
	})
	return all
}

// TestEveryCodeIsExplained: whoever gets an error finds why, and what to do.
func TestEveryCodeIsExplained(t *testing.T) {
	explained := map[beeos.Code]docs.Code{}
	for _, c := range docs.Codes {
		if _, twice := explained[c.Code]; twice {
			t.Errorf("%s is explained twice", c.Code)
		}
		explained[c.Code] = c
	}
	codes := vocabulary(t)
	if len(codes) < 20 {
		t.Fatalf("found only %d codes in error.go", len(codes))
	}
	for _, code := range codes {
		c, ok := explained[code]
		if !ok || len(c.Means) < 5 || len(c.Cause) < 20 || len(c.Remedy) < 20 {
			t.Errorf("%s has no cause and remedy.\n\tAdd them to docs/codes.go, then run: go test ./docs -update", code)
		}
		delete(explained, code)
	}
	for code := range explained {
		t.Errorf("%s is explained and does not exist", code)
	}
}

const errorsHead = `# Error codes

One vocabulary for every surface. Switch on ` + "`code`" + `; ` + "`message`" + ` is for people and says what to do next. Over REST an error is

    {"success": false, "error": {"type": "not_found_error", "code": "agent_not_found", "message": "…", "details": {}}}

Over MCP and A2A the code is ` + "`data.code`" + ` of the JSON-RPC error. A tool that fails is no error: its result has ` + "`isError`" + `, so that
the model can read it. Faults of the server carry a ` + "`request_id`" + `, under which its log has the cause. When you do not know
where to look, begin with [troubleshooting](../how-to/troubleshooting.md).

This page is generated: change ` + "`docs/codes.go`" + `, then run ` + "`go test ./docs -update`" + `.

| code | HTTP | type | means |
|---|---|---|---|
`

// TestErrorsPage keeps reference/errors.md what the table says.
func TestErrorsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(errorsHead)
	for _, c := range docs.Codes {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %d | `%s` | %s |\n", c.Code, c.Code, httpd.Status(c.Code), httpd.Family(c.Code), c.Means)
	}
	for _, c := range docs.Codes {
		fmt.Fprintf(&b, "\n## %s\n\n**Why:** %s\n\n**What to do:** %s\n", c.Code, c.Cause, c.Remedy)
	}
	const page = "reference/errors.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), b.String()); diff != "" {
		t.Errorf("docs/%s is stale: run go test ./docs -update\n%s", page, diff)
	}
}
