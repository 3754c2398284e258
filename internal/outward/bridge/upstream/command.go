package upstream

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Words is a command: a line, or a list of words.
type WordList []string

func (w *WordList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*w = Words(n.Value)
		return nil
	}
	var list []string
	if err := n.Decode(&list); err != nil || len(list) == 0 {
		return fmt.Errorf("line %d: a command is a line or a list of words", n.Line)
	}
	*w = list
	return nil
}

// Words is a command as people write it on one line: what is not a plain word
// is a line for the shell. The shell makes way for a single program, so that
// signals reach that.
func Words(line string) []string {
	switch {
	case single.MatchString(line):
		return []string{"sh", "-c", "exec " + line}
	case strings.ContainsAny(line, " \t\n|&;<>()$`\"'"):
		return []string{"sh", "-c", line}
	}
	return []string{line}
}

// single is one program with its arguments.
var single = regexp.MustCompile(`^[A-Za-z0-9_./-]+[ \t]+[^|&;<>()\n]+$`)
