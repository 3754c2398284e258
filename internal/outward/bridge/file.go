package bridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
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
	entries  []entry
	builtins []string // names of those that a server runs; see Builtin
	dir      string
}

// entry is one agent of a file.
type entry struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Identity    string            `yaml:"identity"`
	Exec        upstream.WordList `yaml:"exec"`
	HTTP        string            `yaml:"http"`
	OpenAI      string            `yaml:"openai"`
	MCP         upstream.WordList `yaml:"mcp"`
	A2A         string            `yaml:"a2a"`
	Origins     []string          `yaml:"origins"`
	Model       string            `yaml:"model"`
	System      string            `yaml:"system"`
	Key         string            `yaml:"key"`
	Headers     map[string]string `yaml:"headers"`
	Env         map[string]string `yaml:"env"`
	Dir         string            `yaml:"dir"`
	Timeout     duration          `yaml:"timeout"`
	OAuth       *entryOAuth       `yaml:"oauth"`
	builtin     `yaml:",inline"`

	header http.Header // with its secrets
	env    []string
	show   func(address string) // leads a person there; nil = nobody is there
}

// entryOAuth is the client that an agent is to a server that wants tokens.
type entryOAuth struct {
	Client   string   `yaml:"client"`
	Secret   string   `yaml:"secret"`
	Key      string   `yaml:"key"`
	Issuer   string   `yaml:"issuer"`
	Scopes   []string `yaml:"scopes"`
	Redirect string   `yaml:"redirect"`
}

// check reads its secrets and says what is wrong with it.
func (o *entryOAuth) check(dir string) (err error) {
	if o == nil {
		return nil
	}
	for _, secret := range []*string{&o.Secret, &o.Key} {
		if *secret != "" && upstream.Reference.FindString(*secret) != *secret {
			return errors.New("oauth: a secret does not belong into this file; write ${env:NAME} or ${file:PATH}")
		}
		if *secret, err = upstream.Expand(*secret, dir); err != nil {
			return fmt.Errorf("oauth: %w", err)
		}
	}
	return o.client(agent.Options{}, nil).Check()
}

func (o *entryOAuth) client(a agent.Options, show func(string)) *account.OAuth {
	return &account.OAuth{
		ClientID: o.Client, Secret: o.Secret, Key: o.Key, Issuer: o.Issuer, Scopes: o.Scopes, Redirect: o.Redirect,
		Name: a.Name, Show: show, Log: cmp.Or(a.Log, slog.Default()),
	}
}

type duration time.Duration

func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v <= 0 {
		return fmt.Errorf("line %d: %q is no duration; write it as in 30s or 5m", n.Line, n.Value)
	}
	*d = duration(v)
	return nil
}

func (d duration) seconds() float64 { return time.Duration(d).Seconds() }

// ReadFile reads a file and every secret that its agents need here.
func ReadFile(path string) (*File, error) {
	entries, lines, err := parseFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{dir: filepath.Dir(path)}
	for i, e := range entries {
		if e.isBuiltin() {
			f.builtins = append(f.builtins, e.Name)
			continue
		}
		if err := e.check(f.dir); err != nil {
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

// readable puts the parser's complaints into words of ours.
func readable(err error) error {
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
	kinds := 0
	for _, given := range []bool{len(e.Exec) > 0, e.HTTP != "", e.OpenAI != "", len(e.MCP) > 0, e.A2A != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return fmt.Errorf("the agent %q needs exactly one of exec, http, openai, mcp and a2a, or a prompt", e.Name)
	case e.OpenAI != "" && e.Model == "":
		return fmt.Errorf("the agent %q names no model", e.Name)
	case e.Key != "" && upstream.Reference.FindString(e.Key) != e.Key:
		return errors.New("a key does not belong into this file; write ${env:NAME} or ${file:PATH}")
	}
	if err := e.OAuth.check(dir); err != nil {
		return err
	}
	if !filepath.IsAbs(e.Dir) {
		e.Dir = filepath.Join(dir, e.Dir)
	}
	if e.Key, err = upstream.Expand(e.Key, dir); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	e.header = http.Header{}
	for name, value := range e.Headers {
		if value, err = upstream.Expand(value, dir); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
		e.header.Set(name, value)
	}
	e.env = os.Environ()
	for name, value := range e.Env {
		if value, err = upstream.Expand(value, dir); err != nil {
			return fmt.Errorf("env %s: %w", name, err)
		}
		e.env = append(e.env, name+"="+value)
	}
	switch {
	case e.HTTP != "":
		return upstream.CheckURL("http", e.HTTP)
	case e.OpenAI != "":
		return upstream.CheckURL("openai", e.OpenAI)
	case e.A2A != "":
		return upstream.CheckURL("a2a", e.A2A)
	}
	return nil
}

// Show has people led to addresses where they can give their consent; without
// it, nobody is there to ask.
func (f *File) Show(lead func(agent, address string)) {
	for i := range f.entries {
		e := &f.entries[i]
		e.show = func(address string) { lead(e.Name, address) }
	}
}

// Names lists the agents.
func (f *File) Names() (names []string) {
	for _, e := range f.entries {
		names = append(names, e.Name)
	}
	return names
}

// Run serves all agents until ctx ends. One that fails is started again, and
// the others do not notice. o is what they have in common; connected is told
// who is there.
func (f *File) Run(ctx context.Context, o agent.Options, connected func(name, id string)) error {
	all, ctx := errgroup.WithContext(ctx)
	for i := range f.entries {
		e := &f.entries[i]
		mine := o
		mine.Name, mine.Description, mine.Identity = e.Name, e.Description, e.Identity
		mine.Connected = func(id string) { connected(e.Name, id) }
		all.Go(func() error { e.keep(ctx, mine); return nil })
	}
	return all.Wait()
}

// keep serves the agent, again and again.
func (e *entry) keep(ctx context.Context, o agent.Options) {
	upstream.KeepRunning(ctx, func(ctx context.Context) error { return e.serve(ctx, o) }, func(pause time.Duration, err error) {
		cmp.Or(o.Log, slog.Default()).Error("the agent ended; starting it again", "agent", e.Name, "in", pause.String(), "err", err)
	})
}

func (e *entry) serve(ctx context.Context, o agent.Options) error {
	switch {
	case e.HTTP != "":
		return httpbridge.HTTP(ctx, httpbridge.HTTPOptions{URL: e.HTTP, Header: e.header, Timeout: time.Duration(e.Timeout), Agent: o})
	case e.OpenAI != "":
		return openai.OpenAI(ctx, openai.OpenAIOptions{URL: e.OpenAI, Model: e.Model, System: e.System, Key: e.Key, Header: e.header, Agent: o})
	case e.A2A != "":
		return a2a.A2A(ctx, a2a.A2AOptions{URL: e.A2A, Origins: e.Origins, Header: e.header, OAuth: e.oauth(o), Agent: o})
	case len(e.MCP) > 0:
		return mcp.MCP(ctx, mcp.MCPOptions{Command: e.MCP, URL: e.mcpURL(), Dir: e.Dir, Env: e.env, Header: e.header, OAuth: e.oauth(o), Agent: o})
	}
	return exec.Exec(ctx, exec.ExecOptions{Name: o.Name, Description: o.Description, Command: e.Exec, Dir: e.Dir, Env: e.env, Log: o.Log, Agent: o})
}

// oauth is how the agent gets into its server. An MCP server says by itself
// that it wants tokens; a header that has one is an answer to that.
func (e *entry) oauth(o agent.Options) *account.OAuth {
	switch {
	case e.OAuth != nil:
		return e.OAuth.client(o, e.show)
	case e.mcpURL() != "" && account.Wanted(e.header):
		return (&entryOAuth{}).client(o, e.show)
	}
	return nil
}

func (e *entry) mcpURL() string {
	if len(e.MCP) == 1 && upstream.IsURL(e.MCP[0]) {
		return e.MCP[0]
	}
	return ""
}
