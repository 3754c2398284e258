package upstream

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Command is a program with its arguments: a line as people write it or, in a
// file, a list of words. Where a bridge takes either, it may be an address.
type Command struct {
	line string
	list []string
}

// UnmarshalText reads a line, as the command line has it.
func (c *Command) UnmarshalText(line []byte) error {
	*c = Command{line: string(line)}
	return nil
}

// UnmarshalYAML reads a line or a list of words.
func (c *Command) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return c.UnmarshalText([]byte(n.Value))
	}
	*c = Command{}
	if err := n.Decode(&c.list); err != nil || len(c.list) == 0 {
		return fmt.Errorf("line %d: a command is a line or a list of words", n.Line)
	}
	return nil
}

// Given reports whether there is a command.
func (c *Command) Given() bool { return c.line != "" || len(c.list) > 0 }

// Words returns the program and its arguments. A line without further
// arguments that is not a plain word is for the shell, as people who put it in
// quotes expect.
func (c *Command) Words(args []string) []string {
	switch {
	case c.list != nil:
		return append(slices.Clone(c.list), args...)
	case len(args) > 0:
		return append([]string{c.line}, args...)
	}
	return splitLine(c.line)
}

// URL returns the address; empty = it is a command.
func (c *Command) URL() string {
	text := c.line
	if len(c.list) == 1 {
		text = c.list[0]
	}
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		return text
	}
	return ""
}

// splitLine has the shell make way for a single program, so that signals reach
// that.
func splitLine(line string) []string {
	switch {
	case singleProgram.MatchString(line):
		return []string{"sh", "-c", "exec " + line}
	case strings.ContainsAny(line, " \t\n|&;<>()$`\"'"):
		return []string{"sh", "-c", line}
	}
	return []string{line}
}

var singleProgram = regexp.MustCompile(`^[A-Za-z0-9_./-]+[ \t]+[^|&;<>()\n]+$`)

// Duration is a time span, written as in 30s or 5m.
type Duration time.Duration

// UnmarshalText reads a duration, as the command line has it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration; write it as in 30s or 5m", text)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML reads a duration and says in which line it is not one.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	if err := d.UnmarshalText([]byte(n.Value)); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}
