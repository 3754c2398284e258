// Package bridge turns programs that are not agents into agents. Kinds is the
// table of the ways to do that, each a package below this one: a program that
// reads and writes JSON lines, an endpoint that is posted the same, a model, an
// MCP server, an agent of another platform. A new kind is a package and a row.
// The command line, file.go (several agents in one file) and builtin.go (those
// of the file that a server runs by itself) read the table.
//
// Below the kinds, upstream has what it takes to reach what stands behind an
// agent, account gets into servers that want tokens, jsonline is the format of
// programs and endpoints, and settings is what every bridge is given.
package bridge

import (
	"context"
	"reflect"
	"strings"

	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
)

// Kinds is the table of the kinds of bridges. A row is called what the kind is
// called, on the command line and in a file. Its type has the options of the
// kind, with their flags and the fields of the file as tags, and implements
// Bridge.
type Kinds struct {
	Exec   exec.Options       `embed:"" yaml:",inline"`
	HTTP   httpbridge.Options `embed:"" yaml:",inline"`
	OpenAI openai.Options     `embed:"" yaml:",inline"`
	MCP    mcp.Options        `embed:"" yaml:",inline"`
	A2A    a2a.Options        `embed:"" yaml:",inline"`
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

// KindNames lists the kinds.
func KindNames() (names []string) {
	for _, row := range reflect.VisibleFields(reflect.TypeFor[Kinds]()) {
		names = append(names, strings.ToLower(row.Name))
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
