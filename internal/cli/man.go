package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// ManCmd prints the manual page, for those who pack the program.
type ManCmd struct{}

// Run prints the page. It is made of the commands themselves, and cannot say
// anything that they do not.
func (c *ManCmd) Run(t *terminal.Terminal, k *kong.Kong) error {
	m := &manual{out: t.Out, settings: map[string]bool{}}
	m.line(".TH BEEOS 1 \"\" \"beeos %s\" \"BeeOS\"", beeos.Version)
	m.section("NAME")
	m.text("beeos - agents over MCP, A2A and REST")
	m.section("SYNOPSIS")
	m.line(".B beeos\n.I COMMAND\n[\\fIARGUMENT\\fR...] [\\fB--FLAG\\fR...]")
	m.section("DESCRIPTION")
	m.text(description)
	m.readSettings(k.Model.Node)
	m.section("COMMANDS")
	m.commands(k.Model.Node)
	m.section("SETTINGS")
	m.text("Of the server, and of the commands that look after it. A variable of the environment does what its flag does, and so does a line of a file, named as the flag is; the flag wins, then the variable. beeos config prints those in force.")
	for _, f := range m.ordered {
		m.flag(f)
	}
	m.section("EXIT STATUS")
	for _, e := range []struct {
		code int
		says string
	}{
		{terminal.ExitOK, "It is done."},
		{terminal.ExitFailed, "It failed; the reason and what to do about it is on standard error."},
		{terminal.ExitUsage, "The command line cannot be understood."},
		{terminal.ExitAgentError, "The agent answered with an error."},
		{terminal.ExitTimeout, "There was no answer in time."},
	} {
		m.line(".TP\n.B %d", e.code)
		m.text(e.says)
	}
	return m.err
}

// manual writes troff. The first error is kept and ends it.
type manual struct {
	out      io.Writer
	err      error
	settings map[string]bool // flags that are settings of the server
	ordered  []*kong.Flag    // the same, in their order
}

func (m *manual) line(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.out, format+"\n", args...)
	}
}

func (m *manual) section(name string) { m.line(".SH %s", name) }

func (m *manual) text(s string) { m.line("%s", troff(s)) }

// readSettings takes the settings from the command that does nothing but show them.
func (m *manual) readSettings(root *kong.Node) {
	for _, n := range root.Children {
		if n.Name != "config" {
			continue
		}
		for _, f := range n.DefaultCmd.Flags {
			if len(f.Envs) > 0 {
				m.settings[f.Name] = true
				m.ordered = append(m.ordered, f)
			}
		}
	}
}

// commands writes a part for each command below a node.
func (m *manual) commands(n *kong.Node) {
	for _, c := range n.Leaves(true) {
		_, configured := c.Target.Addr().Interface().(configured)
		m.line(".SS %s", troff("beeos "+c.Summary()))
		m.text(cmp.Or(c.Detail, c.Help))
		for _, arg := range c.Positional {
			m.line(".TP\n.I %s", troff(arg.Summary()))
			m.text(arg.Help)
		}
		for _, f := range c.Flags {
			if !f.Hidden && (!configured || !m.settings[f.Name]) {
				m.flag(f)
			}
		}
		if configured {
			m.line(".PP")
			m.text("It takes the settings below.")
		}
	}
}

func (m *manual) flag(f *kong.Flag) {
	name := "--" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", " + name
	}
	m.line(".TP\n\\fB%s\\fR", troff(name))
	if !f.IsBool() {
		m.line("\\fI%s\\fR", troff(f.FormatPlaceHolder()))
	}
	if len(f.Envs) > 0 {
		m.line("(%s)", troff(strings.Join(f.Envs, ", ")))
	}
	m.line(".br")
	m.text(f.Help)
}

// troff writes a text so that troff takes none of it for a command.
func troff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
