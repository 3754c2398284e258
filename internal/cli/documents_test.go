//go:build unix

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/cli/terminal"
)

// programs are those that documents have people run.
var programs = strings.Fields("base64 beeos cat chmod claude curl dnf apt docker git go helm jq kubectl litestream make mkdir node npm nohup openssl ls pip python rm sh sleep sudo systemctl tail tr")

var (
	fenced    = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	indented  = regexp.MustCompile(`(?m)(?:^[ \t]*\n)((?:^ {4,}\S.*\n?)+)`)
	begins    = regexp.MustCompile(`^(?:#.*\n|[A-Za-z_]+=\S* +)*([a-z]+) +[^\s\d]`)
	away      = regexp.MustCompile(`>\s*/`)
	function  = regexp.MustCompile(`(?m)^([a-z]+)\(\) \{`)
	awayIsFor = regexp.MustCompile(`>\s*/dev/null`)
)

// shellBlocks are what a document has people type: fenced as sh, or without a
// language and beginning with a program; or indented.
func shellBlocks(text string) (blocks []string) {
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		if m[1] == "sh" || m[1] == "bash" || m[1] == "" && beginsWithProgram(m[2]) {
			blocks = append(blocks, m[2])
		}
	}
	for _, m := range indented.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		if block := dedent(m[1]); beginsWithProgram(block) {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

func beginsWithProgram(block string) bool {
	m := begins.FindStringSubmatch(block)
	return m != nil && (slices.Contains(programs, m[1]) || m[1] == "cd")
}

func dedent(block string) string {
	var b strings.Builder
	for line := range strings.Lines(block) {
		b.WriteString(strings.TrimLeft(line, " "))
	}
	return b.String()
}

// rehearse types a block into a shell in which nothing is installed: every program
// that it wants is noted, with its words as the shell understood them, and says "1".
// Once there is much in the notes they fail, so loops end.
func rehearse(t *testing.T, block string) (commands [][]string) {
	t.Helper()
	const stage = `ulimit -c 0 -f 16
note() { printf '%s\0' "$@" $'\1' >&9; echo 1; }
command_not_found_handle() { note "$@"; }
cd() { note cd "$@"; }
`
	notes, err := os.Create(filepath.Join(t.TempDir(), "notes"))
	if err != nil {
		t.Fatal(err)
	}
	defer notes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"-n", "-c", block}, {"-c", "exec 9>" + notes.Name() + "\n" + stage + block}} {
		cmd := exec.CommandContext(ctx, bash, flags...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=/nothing/is/here", "HOME=/home/ada", "BEEOS_KEY=oag_1"}
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil || flags[0] == "-n" && err != nil {
			t.Errorf("%v: %s\n%s", err, out, block)
			return nil
		}
	}
	text, err := io.ReadAll(notes)
	if err != nil {
		t.Fatal(err)
	}
	for one := range strings.SplitSeq(string(text), "\x00\x01\x00") {
		if one != "" {
			commands = append(commands, strings.Split(one, "\x00"))
		}
	}
	return commands
}

// ourCommand is what the program itself is told by a command, if it is run by it.
func ourCommand(words []string) (args []string, ours bool) {
	for len(words) > 0 {
		name, rest, assigned := strings.Cut(words[0], "=")
		switch {
		case words[0] == "sudo" && len(words) > 3 && words[1] == "-u":
			words = words[3:]
		case words[0] == "sudo" || words[0] == "nohup" || assigned && name == strings.ToUpper(name) && rest != "":
			words = words[1:]
		case words[0] == "beeos":
			return words[1:], true
		case len(words) > 2 && words[0] == "go" && words[1] == "run" && words[2] == "./cmd/beeos":
			return words[3:], true
		case words[0] == "docker" && slices.Contains(words, "exec"):
			at := slices.Index(words, "exec")
			words = words[min(at+2, len(words)):]
		case words[0] == "kubectl" && slices.Contains(words, "--"):
			words = words[slices.Index(words, "--")+1:]
			words[0] = filepath.Base(words[0])
		default:
			return words, false
		}
	}
	return nil, false
}

// TestDocumentsCanBeTyped rehearses every command in every document: the shell
// understands it, the program takes it, with all its flags and arguments, and what
// else it wants is known.
func TestDocumentsCanBeTyped(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, file := range []string{"FILE", "notes.txt"} { // which they name as files that are there
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "BEEOS_") {
			t.Setenv(name, "")
		}
	}
	seen := map[string]int{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "sdk/*/*.md", "test/*/testdata/*.md"} {
		names, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			t.Run(strings.TrimPrefix(name, repository+"/"), func(t *testing.T) { typeDocument(t, name, seen) })
		}
	}
	t.Logf("%v", seen)
	if seen["beeos"] < 40 || seen["helm"] < 2 || seen["docker"] < 3 || seen["sudo"] < 3 {
		t.Errorf("these commands were found in the documents: %v", seen)
	}
}

func typeDocument(t *testing.T, name string, seen map[string]int) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Clone(programs)
	for _, m := range function.FindAllStringSubmatch(string(text), -1) {
		known = append(known, m[1])
	}
	for _, block := range shellBlocks(string(text)) {
		if away.MatchString(awayIsFor.ReplaceAllString(block, "")) {
			t.Errorf("this test does not run what writes to other folders:\n%s", block)
			continue
		}
		for _, words := range rehearse(t, block) {
			seen[words[0]]++
			args, ours := ourCommand(words)
			if ours {
				if words[0] != "beeos" {
					seen["beeos"]++
				}
				if err := takes(t, args); err != nil {
					t.Errorf("beeos %q: %v\n%s", args, err, block)
				}
			}
			if !slices.Contains(known, words[0]) && words[0] != "cd" {
				t.Errorf("%q is a program that no document is known to need:\n%s", words[0], block)
			}
		}
	}
}

// takes reports why the program does not take a command line.
func takes(t *testing.T, args []string) error {
	t.Helper()
	parser, err := newParser(t.Context(), terminal.New(os.Stdin, io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	helped := errors.New("it printed help")
	defer func() {
		if p := recover(); p != nil && p != any(helped) {
			panic(p)
		}
	}()
	parser.Stdout, parser.Exit = io.Discard, func(int) { panic(helped) }
	_, err = parser.Parse(args)
	return err
}

// TestWrongCommandsAreNoticed: the rehearsal sees what it is for.
func TestWrongCommandsAreNoticed(t *testing.T) {
	text := "Run\n\n    sudo -u beeos A=b beeos verify --jsn\n\nor\n\n```\nX=1 beeos call echo \\\n  \"two words\" --tool t | jq -r .x && beeos agnet list\n```\n\n```\nhello beeos\n```\n"
	blocks := shellBlocks(text)
	if len(blocks) != 2 {
		t.Fatalf("%q", blocks)
	}
	var good, bad int
	for _, block := range blocks {
		for _, words := range rehearse(t, block) {
			if args, ours := ourCommand(words); ours && takes(t, args) == nil {
				good++
				if !slices.Contains(args, "two words") {
					t.Errorf("%q", args)
				}
			} else if ours {
				bad++
			}
		}
	}
	if good != 1 || bad != 2 {
		t.Errorf("%d were good and %d bad", good, bad)
	}
}
