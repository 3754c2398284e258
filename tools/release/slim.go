package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The linker leaves out methods that nobody calls, unless the program looks methods
// up by a name that is only known when it runs: then it keeps all exported methods
// of all types. Two places in ours do so, text/template and kong, and cost a tenth
// of its size. What is shipped is therefore compiled with copies of the two in which
// every name that can be asked for is written out. Both still look methods up: the
// linker keeps what has one of these names.
//
// Nothing is changed on disk: the copies are an overlay (go help build). They are
// made of the sources that are there; if one is no longer as it was here, making
// them fails.
//
// The third is PostgreSQL's client, which teaches its types to know Go types that
// nobody here uses: ranges, shapes, and arrays of them.

const (
	kong = "github.com/alecthomas/kong"
	pgx  = "github.com/jackc/pgx/v5"
)

// largest is how many bytes a program may have (README.md says so).
const largest = 48_000_000

// edit replaces a text that is there a known number of times.
type edit struct {
	old, new string
	times    int
}

func apply(file string, text []byte, edits []edit) ([]byte, error) {
	for _, e := range edits {
		if n := bytes.Count(text, []byte(e.old)); n != e.times {
			return nil, fmt.Errorf("%s has %q %d times, not %d: it has changed, so look at what it does now and mend tools/release/slim.go", file, e.old, n, e.times)
		}
		text = bytes.ReplaceAll(text, []byte(e.old), []byte(e.new))
	}
	return text, nil
}

// overlay is where slim leaves it for the compiler.
func (r *release) overlay() string { return r.work("slim", "overlay.json") }

// slim writes an overlay with which the program is compiled without methods that
// nobody calls.
func (r *release) slim() error {
	replace := map[string]string{}
	if err := errors.Join(r.slimTemplates(replace), r.slimKong(replace), r.slimPostgres(replace), r.replaceModules(replace)); err != nil {
		return err
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.overlay(), text, 0o644)
}

// keep writes a changed file and has it replace another one.
func (r *release) keep(replace map[string]string, path, name string, text []byte) error {
	to := r.work("slim", name)
	replace[path] = to
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
}

// slimTemplates has text/template look up the names that our templates use.
func (r *release) slimTemplates(replace map[string]string) error {
	goroot, err := r.ask("env", "GOROOT")
	if err != nil {
		return err
	}
	path := filepath.Join(goroot, "src", "text", "template", "exec.go")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	names, err := templateNames(r.root)
	if err != nil {
		return err
	}
	text, err = apply(path, text, []edit{{"ptr.MethodByName(fieldName)", "methodNamed(ptr, fieldName)", 1}})
	if err != nil {
		return err
	}
	text, err = format.Source(append(text, lookUp("methodNamed", "reflect.Value", "reflect.Value", "return reflect.Value{}", names)...))
	if err != nil {
		return err
	}
	return r.keep(replace, path, "template/exec.go", text)
}

// slimKong has kong look up its hooks, Run, and what our commands provide. Files of
// a module cannot be replaced, so the module is, by a folder that exists in the
// overlay alone.
func (r *release) slimKong(replace map[string]string) error {
	module, err := r.ask("list", "-m", "-f", "{{.Dir}}", kong)
	if err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(module, "*.go"))
	if err != nil {
		return err
	}
	folder := filepath.Join(r.root, ".slim", "kong")
	var names []string
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range hookCall.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
		replace[filepath.Join(folder, filepath.Base(path))] = path
	}
	replace[filepath.Join(folder, "go.mod")] = filepath.Join(module, "go.mod")
	provided, err := findAll(r.root, []string{"internal/cli", "internal/config"}, provider, whole)
	if err != nil {
		return err
	}
	slices.Sort(names)
	return r.editKong(replace, module, folder, slices.Compact(names), provided)
}

// replaceModules has the module of the program take the two from the folders.
func (r *release) replaceModules(replace map[string]string) error {
	mod := filepath.Join(r.root, "go.mod")
	text, err := os.ReadFile(mod)
	if err != nil {
		return err
	}
	return r.keep(replace, mod, "go.mod", append(text, "\nreplace "+kong+" => ./.slim/kong\nreplace "+pgx+" => ./.slim/pgx\n"...))
}

// pgxTypes are the lines that say by which type of PostgreSQL values of pgx's own Go
// types go. The program gives it plain ones.
var pgxTypes = regexp.MustCompile(`(?m)^\tregisterDefaultPgTypeVariants\[(?:[A-Z]\w*|Range\[\w+\]|Multirange\[Range\[\w+\]\])\]\(defaultMap, "\w+"\).*\n`)

// slimPostgres leaves them out.
func (r *release) slimPostgres(replace map[string]string) error {
	module, err := r.ask("list", "-m", "-f", "{{.Dir}}", pgx)
	if err != nil {
		return err
	}
	folder := filepath.Join(r.root, ".slim", "pgx")
	err = filepath.WalkDir(module, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(module, path)
		replace[filepath.Join(folder, name)] = path
		return err
	})
	if err != nil {
		return err
	}
	const name = "pgtype/pgtype_default.go"
	text, err := os.ReadFile(filepath.Join(module, name))
	if err != nil {
		return err
	}
	if found := len(pgxTypes.FindAll(text, -1)); found != 38 {
		return fmt.Errorf("%s of pgx names %d types of its own, not 38: it has changed, so look at what it does now and mend tools/release/slim.go", name, found)
	}
	return r.keep(replace, filepath.Join(folder, name), "pgx/"+name, pgxTypes.ReplaceAll(text, nil))
}

var (
	// hookCall is where kong says which method it looks for.
	hookCall = regexp.MustCompile(`(?:getMethod|applyHook)\([^()]*"(\w+)"\)`)
	// provider is a method with which a command provides something to its Run.
	provider = regexp.MustCompile(`(?m)^func \([^)]+\) (Provide\w+)\(`)
)

func (r *release) editKong(replace map[string]string, module, folder string, names, provided []string) error {
	names = append(names, provided...)
	const missing = `panic("tools/release/slim.go does not know the method " + name)`
	added := append(lookUp("methodNamed", "reflect.Value", "reflect.Value", missing, names),
		lookUp("typeMethodNamed", "reflect.Type", "(reflect.Method, bool)", missing, names)...)
	for name, edits := range map[string][]edit{
		"callbacks.go": {
			{"value.MethodByName(name)", "methodNamed(value, name)", 2},
			{"value.Addr().MethodByName(name)", "methodNamed(value.Addr(), name)", 2},
			{"t.MethodByName(name)", "typeMethodNamed(t, name)", 1},
		},
		"context.go": {
			{"for i := 0; i < p.NumMethod(); i++ {", fmt.Sprintf("for _, name := range %#v {", provided), 1},
			{"methodt := t.Method(i)", "methodt, found := typeMethodNamed(t, name)\nif !found {\ncontinue\n}", 1},
			{"p.Method(i)", "methodNamed(p, name)", 1},
		},
		"help.go": { // what go/doc does with a text, without its parser of programs
			{`"go/doc"`, `"go/doc/comment"`, 1},
			{"doc.ToText(", "writeDoc(", 2},
		},
	} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err == nil {
			text, err = apply(name+" of kong", text, edits)
		}
		switch name {
		case "callbacks.go":
			text = append(text, added...)
		case "help.go":
			text = append(text, writeDoc...)
		}
		if err == nil {
			text, err = format.Source(text)
		}
		if err == nil {
			err = r.keep(replace, filepath.Join(folder, name), "kong/"+name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const writeDoc = `
func writeDoc(w io.Writer, text, prefix, codePrefix string, width int) {
	p := comment.Printer{TextPrefix: prefix, TextCodePrefix: codePrefix, TextWidth: width}
	w.Write(p.Text(new(comment.Parser).Parse(text)))
}
`

// lookUp is a function that looks a method up in v, a case for every name: the
// linker sees which.
func lookUp(function, of, result, otherwise string, names []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nfunc %s(v %s, name string) %s {\nswitch name {\n", function, of, result)
	for _, name := range names {
		fmt.Fprintf(&b, "case %q:\nreturn v.MethodByName(%q)\n", name, name)
	}
	fmt.Fprintf(&b, "}\n%s\n}\n", otherwise)
	return b.Bytes()
}

var (
	whole  = regexp.MustCompile(`(?s).+`)
	action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	field  = regexp.MustCompile(`\.([A-Z]\w*)`)
)

// templateNames is every name that a template of ours may look for: all fields and
// methods between double braces in what the program is made of. Some belong to
// others and do no harm.
func templateNames(root string) ([]string, error) {
	names, err := findAll(root, []string{"agent", "api", "client", "docs", "internal"}, field, action)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(reflected, name) }), err
}

// findAll is every name that is found within some part of a file of these folders.
func findAll(root string, folders []string, name, within *regexp.Regexp) ([]string, error) {
	names := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) == ".png" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, part := range within.FindAll(text, -1) {
				for _, m := range name.FindAllSubmatch(part, -1) {
					names[string(m[1])] = true
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("nothing in %v looks like %s: mend tools/release/slim.go", folders, name)
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// reflected are the methods of package reflect that look methods up, and would be
// kept, with all that they may find, for sharing a name with a field of ours. A
// template that calls a method of such a name says at once that there is none.
var reflected = []string{"Method", "MethodByName", "Methods"}

// ask asks the go command about this module.
func (r *release) ask(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %v: %w", args, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// weigh refuses a program that is too large.
func (r *release) weigh(t target) error {
	info, err := os.Stat(r.program(t))
	if err != nil {
		return err
	}
	fmt.Printf("%-13s %.1f MB\n", t, float64(info.Size())/1e6)
	if info.Size() >= largest {
		return fmt.Errorf("%s has %d bytes, and is to have less than %d; see what grew with: go tool nm -size -sort size", r.program(t), info.Size(), largest)
	}
	return nil
}
