// Package bridge turns programs that are not agents into agents. Kinds is the
// table of the ways to do that, each a package below this one: a program that
// reads and writes JSON lines, a coding agent, an endpoint that is posted the same
// lines, a model, an MCP server, an agent of another platform. A new kind is a
// package and a row.
// The command line, file.go (several agents in one file) and builtin.go (those
// of the file that a server runs by itself) read the table.
//
// Below the kinds, upstream has what it takes to reach what stands behind an
// agent, program runs it where it is one, account gets into servers that want
// tokens, jsonline is the format of programs and endpoints, enclosed reads what
// comes along with a message, and settings is what every bridge is given.
package bridge

import (
	"cmp"
	"context"
	"reflect"
	"strings"

	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/acp"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
)

// Kinds is the table of the kinds of bridges. A row is called what the kind is
// called, on the command line and in a file; its tags say what people call it,
// and what it is about. Its type has the options of the kind, with their flags
// and the fields of the file as tags, and implements Bridge. An option with an
// example must be given.
type Kinds struct {
	Exec   exec.Options       `embed:"" yaml:",inline" title:"Any program" about:"In any language: it reads messages as lines of JSON and writes its answers as lines."`
	ACP    acp.Options        `embed:"" yaml:",inline" title:"A coding agent" about:"Claude Code, Codex, Gemini CLI, Goose: whatever speaks the Agent Client Protocol. It works in one folder, and a person decides about its tools."`
	HTTP   httpbridge.Options `embed:"" yaml:",inline" title:"A web service" about:"It is posted each message, and answers with JSON, text or server-sent events."`
	OpenAI openai.Options     `embed:"" yaml:",inline" title:"A model" about:"Behind any OpenAI-compatible address: Ollama, vLLM, a provider, a gateway of your own."`
	MCP    mcp.Options        `embed:"" yaml:",inline" title:"An MCP server" about:"A command or an address. Its tools, resources and prompts become the agent's."`
	A2A    a2a.Options        `embed:"" yaml:",inline" title:"An agent of another platform" about:"One that speaks A2A, by its own address or that of its card."`
}

// Bridge is a row of the table: what is to become an agent, and how.
type Bridge interface {
	// Given reports whether the operator has chosen this kind.
	Given() bool
	// Check reads what secrets it needs, and finds mistakes before anything runs.
	Check(s *settings.Bridge) error
	// Run serves the agent until ctx ends.
	Run(ctx context.Context, s settings.Bridge) error
}

// Kind is a row of the table as people are told about it.
type Kind struct {
	Name    string // on the command line and in a file
	Title   string
	About   string
	Options []Option // the first one chooses the kind
	Sample  string   // a whole program for such a bridge; empty = there is nothing to write
}

// Option is a flag of a kind.
type Option struct {
	Flag    string
	Help    string
	Example string // empty = it can be left out
	Switch  bool   // it has no value: it is there or not
}

// ListKinds describes the kinds, as their tags do.
func ListKinds() (list []Kind) {
	for _, row := range reflect.VisibleFields(reflect.TypeFor[Kinds]()) {
		k := Kind{Name: strings.ToLower(row.Name), Title: row.Tag.Get("title"), About: row.Tag.Get("about")}
		for _, f := range reflect.VisibleFields(row.Type) {
			if f.Tag.Get("kong") == "-" {
				continue
			}
			help := strings.TrimPrefix(f.Tag.Get("help"), "With --"+k.Name+": ")
			k.Options = append(k.Options, Option{
				Flag: cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)), Help: strings.ToUpper(help[:min(1, len(help))]) + help[min(1, len(help)):], Example: f.Tag.Get("example"),
				Switch: f.Type.Kind() == reflect.Bool,
			})
		}
		if s, ok := reflect.New(row.Type).Interface().(interface{ Sample() string }); ok {
			k.Sample = s.Sample()
		}
		list = append(list, k)
	}
	return list
}

// KindNames lists the kinds.
func KindNames() (names []string) {
	for _, k := range ListKinds() {
		names = append(names, k.Name)
	}
	return names
}

// Given returns the bridges that the operator has chosen.
func (k *Kinds) Given() (given []Bridge) {
	table := reflect.ValueOf(k).Elem()
	for i := range table.NumField() {
		if row := table.Field(i).Addr().Interface().(Bridge); row.Given() {
			given = append(given, row)
		}
	}
	return given
}

// Chats reports whether the agents of a bridge answer messages. An MCP server
// has tools only.
func Chats(b Bridge) bool {
	_, tools := b.(*mcp.Options)
	return !tools
}

// givenFields lists the fields of a file that v has values for.
func givenFields(v reflect.Value) (names []string) {
	for i := range v.NumField() {
		switch name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); {
		case option == "inline":
			names = append(names, givenFields(v.Field(i))...)
		case name != "" && !v.Field(i).IsZero():
			names = append(names, name)
		}
	}
	return names
}
