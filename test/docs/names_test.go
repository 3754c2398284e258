//go:build unix

package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	commandWord = regexp.MustCompile(`^[a-z][a-z|]*$`)
	flag        = regexp.MustCompile(`--[a-z][a-z-]*`)
	setting     = regexp.MustCompile(`\b(?:BEEOS|MCP|A2A|OPENAPI|AGENT_GATEWAY|WEB|DATABASE|NATS|LOG)_[A-Z_]*[A-Z]\b`)
	makeTarget  = regexp.MustCompile(`^make ([a-z ]+)$`)
)

// otherSettings are variables that are no settings of the server, by who reads
// them.
var otherSettings = map[string]string{
	"BEEOS_KEY": "client", "BEEOS_URL": "client", "BEEOS_JOIN_TOKEN": "agents", "BEEOS_TEST_POSTGRES": "tests",
	"BEEOS_BRIDGE_TOKEN": "bridges", "BEEOS_BRIDGE_TOKEN_FILE": "bridges", "BEEOS_OAUTH_SECRET": "bridges", "BEEOS_OAUTH_KEY": "bridges",
	"BEEOS_CHANNEL_TOKEN": "beeos channels", "BEEOS_CHANNEL_SECRET": "beeos channels",
	"A2A_TCK_DIR": "conformance",
}

// TestCommandsExist asks the program itself about every command and flag that
// a document names.
func TestCommandsExist(t *testing.T) {
	s := newShell(t)
	s.program()
	help := map[string]string{}
	for _, p := range pages(t) {
		for _, words := range p.inline() {
			if !strings.HasPrefix(words, "beeos ") {
				continue
			}
			for _, command := range spelledOut(words) {
				if _, known := help[command]; !known {
					help[command] = s.run(s.folder, "beeos "+command+" --help")
				}
				if !strings.HasPrefix(help[command], "Usage: beeos "+firstWord(command)) {
					t.Errorf("%s names %q; there is no command %q", p.name, words, command)
				}
				for _, f := range flag.FindAllString(words, -1) {
					if !strings.Contains(help[command], f) {
						t.Errorf("%s names %q; %q has no flag %s", p.name, words, command, f)
					}
				}
			}
		}
	}
	if len(help) < 10 {
		t.Errorf("only %d commands were found in the documents", len(help))
	}
}

// spelledOut returns the commands that words stand for: "keys create|list" is
// two.
func spelledOut(words string) []string {
	commands := []string{""}
	for i, word := range strings.Fields(words)[1:] {
		if i == 2 || !commandWord.MatchString(word) {
			break
		}
		var longer []string
		for _, c := range commands {
			for one := range strings.SplitSeq(word, "|") {
				longer = append(longer, strings.TrimSpace(c+" "+one))
			}
		}
		commands = longer
	}
	return commands
}

func firstWord(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

// TestSettingsExist: every variable that a document names is one.
func TestSettingsExist(t *testing.T) {
	known := setting.FindAllString(read(t, "docs/reference/configuration.md").text, -1)
	for _, p := range pages(t) {
		for _, name := range setting.FindAllString(p.text, -1) {
			if !slices.Contains(known, name) && otherSettings[name] == "" {
				t.Errorf("%s names %s, which nobody reads", p.name, name)
			}
		}
	}
}

// TestBenchmarksHaveRoom: make bench writes its tables between these marks.
func TestBenchmarksHaveRoom(t *testing.T) {
	text := read(t, "docs/reference/benchmarks.md").text
	for _, name := range []string{"calls", "sessions", "streams", "a2a", "tokens", "idle", "scale"} {
		_, rest, found := strings.Cut(text, "<!-- bench:"+name+" -->\n")
		if _, _, closed := strings.Cut(rest, "<!-- /bench:"+name+" -->"); !found || !closed {
			t.Errorf("docs/reference/benchmarks.md has no marks for the table %s", name)
		}
	}
}

// TestTargetsExist: every make target that a document names is one.
func TestTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile").text
	for _, p := range pages(t) {
		for _, words := range p.inline() {
			m := makeTarget.FindStringSubmatch(words)
			if m == nil {
				continue
			}
			for _, target := range strings.Fields(m[1]) {
				if !strings.Contains(makefile, "\n"+target+":") {
					t.Errorf("%s names make %s; the Makefile has no such target", p.name, target)
				}
			}
		}
	}
}

var (
	inRepository = regexp.MustCompile(`(?:^|[\s"'=(])(?:\./)?((?:agent|api|client|cmd|deploy|docs|examples|internal|scripts|sdk|test|tools)/[A-Za-z0-9_./{},*-]+)`)
	noPath       = regexp.MustCompile(`^tools/(call|list)$|/[A-Z]+$`) // methods of MCP, and words to fill in
	oneOf        = regexp.MustCompile(`\{([^{}]*)\}`)
)

// TestPathsExist: files and folders of the repository that a document names are there.
func TestPathsExist(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		if p.name == "CHANGELOG.md" { // which tells of what was
			continue
		}
		words := p.inline()
		for _, language := range []string{"", "sh", "ini", "yaml"} {
			words = append(words, p.blocks(language)...)
		}
		for _, text := range words {
			for _, m := range inRepository.FindAllStringSubmatch(text, -1) {
				for _, path := range spellPaths(strings.TrimRight(strings.TrimSuffix(m[1], "/..."), ".,/")) {
					if noPath.MatchString(path) {
						continue
					}
					found++
					if all, err := filepath.Glob(filepath.Join(repo, path)); err != nil || len(all) == 0 {
						t.Errorf("%s names %s, which is not there", p.name, path)
					}
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d paths were found in the documents", found)
	}
}

// spellPaths returns the paths that one stands for: "a/{b,c}" is two.
func spellPaths(path string) (all []string) {
	at := oneOf.FindStringSubmatchIndex(path)
	if at == nil {
		return []string{path}
	}
	for one := range strings.SplitSeq(path[at[2]:at[3]], ",") {
		all = append(all, spellPaths(path[:at[0]]+one+path[at[1]:])...)
	}
	return all
}
