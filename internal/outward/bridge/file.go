package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/jsonline"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// FileName is what a file with agents is called when nobody says otherwise.
const FileName = "beeos.yaml"

// File is several agents, as one file describes them:
//
//	agents:
//	  - name: bot
//	    http: http://localhost:8000
//	    headers: {Authorization: "Bearer ${env:BOT_TOKEN}"}
//	  - name: llm
//	    openai: http://localhost:11434/v1
//	    model: llama3
//	    key: ${file:key.txt}
//	  - name: tools
//	    mcp: npx -y some-mcp-server
//	  - name: peer
//	    a2a: https://example.com/agents/7
//
// A field that is unknown, and a secret that is missing, are errors.
type File struct {
	entries  []*entry
	builtins []string // names of those that a server runs; see BuiltinAgent
}

// entry is one agent of a file.
type entry struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Kinds       `yaml:",inline"`

	Identity string            `yaml:"identity"`
	Headers  map[string]string `yaml:"headers"`
	Env      map[string]string `yaml:"env"`
	Dir      string            `yaml:"dir"`
	Declare  map[string]any    `yaml:"declare"` // what a program or an endpoint offers, as it would declare it itself
	OAuth    *account.Client   `yaml:"oauth"`
	builtin  `yaml:",inline"`

	bridge   Bridge // the one of Kinds that is given
	declared *jsonline.Declaration
	settings settings.Bridge // with its secrets
}

// ReadFile reads a file and every secret that its agents need here.
func ReadFile(path string) (*File, error) {
	entries, lines, err := parseFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{}
	for i := range entries {
		e := &entries[i]
		if e.isBuiltin() {
			f.builtins = append(f.builtins, e.Name)
			continue
		}
		if err := e.check(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, lines[i], err)
		}
		f.entries = append(f.entries, e)
	}
	if len(f.entries) == 0 {
		return nil, fmt.Errorf("%s has nothing but agents with a prompt, which a server runs; deploy them with: beeos deploy -f %s", path, path)
	}
	return f, nil
}

func decodeFile(text []byte) ([]entry, error) {
	var content struct {
		Agents []entry `yaml:"agents"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&content); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return content.Agents, nil
}

var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// plainError says what the parser complains about in plain words.
func plainError(err error) error {
	te, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	text := unknownField.ReplaceAllString(strings.Join(te.Errors, "; "), `there is no field "$1"`)
	return errors.New(text)
}

// lineNumbers says where each agent of the file begins.
func lineNumbers(text []byte) []int {
	var doc struct {
		Agents []yaml.Node `yaml:"agents"`
	}
	_ = yaml.Unmarshal(text, &doc) // it was read before
	var lines []int
	for _, n := range doc.Agents {
		lines = append(lines, n.Line)
	}
	return lines
}

// check completes the entry and says what is wrong with it.
func (e *entry) check(dir string) (err error) {
	given := e.Given()
	if len(given) != 1 {
		return fmt.Errorf("the agent %q needs exactly one of %s, or a prompt", e.Name, strings.Join(KindNames(), ", "))
	}
	e.bridge, e.settings = given[0], settings.Bridge{Folder: dir, Dir: e.Dir, Header: http.Header{}, Env: os.Environ()}
	if !filepath.IsAbs(e.Dir) {
		e.settings.Dir = filepath.Join(dir, e.Dir)
	}
	if err := e.readDeclaration(); err != nil {
		return err
	}
	if e.OAuth != nil {
		if err := e.OAuth.ReadSecrets(dir); err != nil {
			return err
		}
		e.settings.OAuth = *e.OAuth
	}
	for name, value := range e.Headers {
		if value, err = upstream.Expand(value, dir); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
		e.settings.Header.Set(name, value)
	}
	for name, value := range e.Env {
		if value, err = upstream.Expand(value, dir); err != nil {
			return fmt.Errorf("env %s: %w", name, err)
		}
		e.settings.Env = append(e.settings.Env, name+"="+value)
	}
	return e.bridge.Check(&e.settings)
}

// readDeclaration reads what the file says that a program or an endpoint offers.
func (e *entry) readDeclaration() error {
	if e.Declare == nil {
		return nil
	}
	if !e.Exec.Given() && !e.HTTP.Given() {
		return fmt.Errorf("the agent %q says itself what it offers; declare is for exec and http", e.Name)
	}
	text, err := json.Marshal(e.Declare)
	if err != nil {
		return fmt.Errorf("declare of %q: %w", e.Name, err)
	}
	e.declared = &jsonline.Declaration{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(e.declared); err != nil {
		return fmt.Errorf("declare of %q: %w", e.Name, err)
	}
	return nil
}

// Show says how to lead a person to an address where they can give their
// consent. Without it, nobody is there to ask.
func (f *File) Show(lead func(agent, address string)) {
	for _, e := range f.entries {
		e.settings.OAuth.Show = func(address string) { lead(e.Name, address) }
	}
}

// Chats reports whether the agent of that name answers messages.
func (f *File) Chats(name string) bool {
	return !slices.ContainsFunc(f.entries, func(e *entry) bool { return e.Name == name && !Chats(e.bridge) })
}

// Run serves all agents until ctx ends. One that fails is started again, and
// the others do not notice. o is what they have in common; connected is told
// who is there.
func (f *File) Run(ctx context.Context, o agent.Options, connected func(name, id string)) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, e := range f.entries {
		mine := o
		mine.Name, mine.Description, mine.Identity = e.Name, e.Description, e.Identity
		mine.Connected = func(id string) { connected(e.Name, id) }
		if e.declared != nil {
			e.declared.Apply(&mine)
		}
		all.Go(func() error { e.keep(ctx, mine); return nil })
	}
	return all.Wait()
}

// keep serves the agent, again and again.
func (e *entry) keep(ctx context.Context, o agent.Options) {
	s := e.settings
	s.Agent = o
	run := func(ctx context.Context) error { return e.bridge.Run(ctx, s) }
	upstream.KeepRunning(ctx, run, func(pause time.Duration, err error) {
		s.Log().Error("the agent ended; starting it again", "agent", e.Name, "in", pause.String(), "err", err)
	})
}
