package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"github.com/beeos/beeos/internal/cli/terminal"
)

// CompletionCmd switches on tab completion.
type CompletionCmd struct {
	Shell string `arg:"" help:"The name of the shell you are using." enum:"bash,zsh,fish," default:""`
	Code  bool   `short:"c" help:"Print the code that the command loads."`
}

// Help is what kong shows below the line that all commands have.
func (c *CompletionCmd) Help() string {
	return "Prints a command that switches on tab completion for this program. To keep it on, put the command into your shell's init file. If no shell is named, it is your login shell."
}

// shells says how each shell loads the code, from where at its start, and what
// the code is: a template of []completed. It walks along the words that were
// typed, as far as they are commands, and offers what may follow: flags to who
// has typed a dash, otherwise commands, or files where there are none.
var shells = map[string]struct{ load, init, code string }{
	"bash": {"source <(beeos completion -c bash)", "~/.bashrc", bashCode},
	"zsh":  {"source <(beeos completion -c zsh)", "~/.zshrc", "autoload -U +X bashcompinit && bashcompinit\n" + bashCode},
	"fish": {"beeos completion -c fish | source", "~/.config/fish/config.fish", fishCode},
}

const (
	bashCode = `_beeos() {
  local line='' found='' flags='' current="${COMP_WORDS[COMP_CWORD]}" word
  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$line $word" in
    {{range $i, $c := .}}{{if $i}}'{{.Line}}'|{{end}}{{end}}'') line="$line $word" ;;
    esac
  done
  case "$line" in{{range .}}
  '{{.Line}}') found='{{.Commands}}' flags='{{.Flags}}' ;;{{end}}
  esac
  case "$current" in -*) found="$flags" ;; esac
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -o bashdefault -F _beeos beeos
`
	fishCode = `function __beeos
  set -l line ''
  for word in (commandline -opc)[2..-1]
    switch "$line $word"
      case{{range .}} '{{.Line}}'{{end}}
        set line "$line $word"
    end
  end
  switch "$line"{{range .}}
    case '{{.Line}}'
      string split ' ' -- '{{.Flags}}'
      {{if .Commands}}string split ' ' -- '{{.Commands}}'{{else}}__fish_complete_path (commandline -ct){{end}}{{end}}
  end
end
complete -f -c beeos -a '(__beeos)'
`
)

// completed is what may follow a command.
type completed struct {
	Line            string // the command, a blank before each of its words
	Commands, Flags string
}

// completions lists a command and those below it.
func completions(line string, n *kong.Node) []completed {
	c := completed{Line: line}
	var below []completed
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		c.Commands += " " + child.Name
		below = append(below, completions(line+" "+child.Name, child)...)
	}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			c.Flags += " --" + f.Name
		}
	}
	c.Commands, c.Flags = strings.TrimSpace(c.Commands), strings.TrimSpace(c.Flags)
	return append([]completed{c}, below...)
}

// Run prints how to switch completion on, or the code.
func (c *CompletionCmd) Run(t *terminal.Terminal, k *kong.Kong) error {
	name := cmp.Or(c.Shell, filepath.Base(os.Getenv("SHELL")))
	s, ok := shells[name]
	if !ok {
		return terminal.Hint("there is no completion for your shell", "name another one: beeos completion bash, zsh or fish")
	}
	if c.Code {
		return template.Must(template.New("").Parse(s.code)).Execute(t.Out, completions("", k.Model.Node))
	}
	return t.PrintLine(fmt.Sprintf("Switch on tab completion for beeos in %s with:\n\n    %s\n\nThat is for this session. To keep it on, put the same line into %s.", name, s.load, s.init))
}
