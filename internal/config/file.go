package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

const (
	fileName     = "beeos.yaml"
	systemFolder = "/etc/beeos"
	fileFlag     = "config" // names the file, and is not one of the settings in it
	fileSuffix   = "-file"  // after the name of a secret: the path of a file with it
)

// Problem is something in a file of settings that cannot be used.
type Problem struct {
	Line    int    `json:"line,omitempty"` // 0 = it is not about one line
	Setting string `json:"setting,omitempty"`
	Text    string `json:"problem"`
}

// FileError is the error of a file of settings that cannot be used.
type FileError struct {
	Path     string
	Problems []Problem
}

func (e *FileError) Error() string {
	text := e.Path + ": " + e.Problems[0].Text
	if line := e.Problems[0].Line; line > 0 {
		text = fmt.Sprintf("%s:%d: %s", e.Path, line, e.Problems[0].Text)
	}
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more; see all with: beeos config check %s)", more, e.Path)
	}
	return text
}

// findFile returns the file of settings to read, "" for none: the one that was
// named, or the first that is there.
func findFile(named, data string, dev bool) string {
	if named != "" {
		return named
	}
	places := []string{filepath.Join(data, fileName), filepath.Join(systemFolder, fileName)}
	if dev {
		places = places[:1] // the other one is a server's
	}
	for _, path := range places {
		if _, err := os.Stat(path); err == nil || errors.Is(err, fs.ErrPermission) {
			return path
		}
	}
	return ""
}

// FindFile returns the file that a server reads when nobody names one, "" for none.
func FindFile() string {
	c := Default(false)
	c.readEnv()
	return findFile(c.File, c.Data, false)
}

// loadFile is the part of BeforeApply that reads the file: what it says counts less
// than the environment and flags.
func (c *Config) loadFile(ctx *kong.Context, dev bool) error {
	named, data := c.File, c.Data
	for _, f := range ctx.Flags() { // they are not in c yet
		if len(f.Envs) == 0 {
			continue
		}
		if text, ok := ctx.FlagValue(f).(string); ok {
			switch f.Envs[0] {
			case "BEEOS_CONFIG":
				named = text
			case "BEEOS_DATA":
				data = text
			}
		}
	}
	path := findFile(named, data, dev)
	if path == "" {
		return nil
	}
	problems, err := c.readFile(path)
	if err == nil && named == "" && c.lines["data"] > 0 && filepath.Dir(path) == filepath.Clean(data) {
		problems = append(problems, Problem{c.lines["data"], "data", "a file in the data folder cannot say where that is: remove this line, or name the file with --config"})
	}
	if err == nil && len(problems) > 0 {
		err = &FileError{path, problems}
	}
	return err
}

// readFile sets what a file says and the environment does not.
func (c *Config) readFile(path string) ([]Problem, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &FileError{path, []Problem{{Text: fmt.Sprintf("the settings cannot be read (%v): correct the path or its permissions, or name another file with --config", errors.Unwrap(err))}}}
	}
	c.path, c.lines = path, map[string]int{}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return []Problem{{Line: lineIn(err), Text: "this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}}, nil
	}
	if doc.Kind == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil // empty, or nothing but comments
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return []Problem{{Line: root.Line, Text: "settings are written as NAME: VALUE, one per line"}}, nil
	}
	var problems []Problem
	names := c.fileNames()
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if err := c.setFromFile(names, key, value); err != nil {
			problems = append(problems, Problem{key.Line, key.Value, key.Value + " " + err.Error()})
		}
	}
	return problems, nil
}

// lineIn is the line that an error of the YAML parser names.
func lineIn(err error) (line int) {
	_, rest, _ := strings.Cut(err.Error(), "line ")
	fmt.Sscan(rest, &line) //nolint:errcheck // 0 = it names none
	return line
}

// fileNames are the names that a file may have, with their flags. A secret has two.
func (c *Config) fileNames() map[string]*kong.Flag {
	names, secrets := map[string]*kong.Flag{}, c.secrets()
	for _, f := range c.flags() {
		if f.Name == fileFlag {
			continue
		}
		names[f.Name] = f
		if secrets[f.Envs[0]] != nil {
			names[f.Name+fileSuffix] = f
		}
	}
	return names
}

func (c *Config) setFromFile(names map[string]*kong.Flag, key, value *yaml.Node) error {
	f := names[key.Value]
	switch {
	case key.Value == fileFlag:
		return errors.New("cannot be in the file that it names: remove it")
	case f == nil:
		return fmt.Errorf("is no setting%s; see which there are with: beeos config", suggest(key.Value, names))
	case c.lines[f.Name] > 0:
		return fmt.Errorf("is set twice, first in line %d: keep one of them", c.lines[f.Name])
	}
	c.lines[f.Name] = key.Line
	if value.Tag == "!!null" {
		delete(c.lines, f.Name) // NAME: without a value is not set
		return nil
	}
	text, err := textOf(f, value)
	if err != nil {
		return err
	}
	if key.Value != f.Name {
		secret, err := os.ReadFile(text)
		if err != nil {
			return fmt.Errorf("names a file that cannot be read (%w): correct the path or its permissions", errors.Unwrap(err))
		}
		text = strings.TrimSpace(string(secret))
	}
	if isInEnv(f) {
		delete(c.lines, f.Name)
		return nil
	}
	f.Target.SetZero() // a list would grow
	if err := f.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text}), f.Target); err != nil {
		return fmt.Errorf("cannot be used: %w", err)
	}
	return nil
}

// isInEnv reports whether the environment sets a flag, which then counts more.
func isInEnv(f *kong.Flag) bool {
	return slices.ContainsFunc(f.Envs, func(name string) bool { return os.Getenv(name) != "" || os.Getenv(name+"_FILE") != "" })
}

// textOf is a value of a file as it would stand in a flag, if it is of the right
// kind.
func textOf(f *kong.Flag, n *yaml.Node) (string, error) {
	if n.Kind == yaml.SequenceNode && f.Target.Kind() == reflect.Slice {
		var all []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.Tag != "!!str" || strings.Contains(item.Value, ",") {
				return "", fmt.Errorf("has an entry in line %d that is no text", item.Line)
			}
			all = append(all, item.Value)
		}
		return checkEnum(f, strings.Join(all, ","))
	}
	tag, want := "!!str", "text; write it in quotes"
	switch f.Target.Interface().(type) {
	case bool:
		tag, want = "!!bool", "true or false"
	case int:
		tag, want = "!!int", "a whole number"
	case time.Duration:
		want = "a duration; write it as 30s, 5m or 24h"
	case []string:
		want = "a list; write it as [ONE, TWO]"
	}
	if n.Kind != yaml.ScalarNode || n.Tag != tag {
		return "", errors.New("must be " + want)
	}
	if _, is := f.Target.Interface().(time.Duration); is {
		if _, err := time.ParseDuration(n.Value); err != nil {
			return "", errors.New("must be " + want)
		}
	}
	return checkEnum(f, n.Value)
}

func checkEnum(f *kong.Flag, text string) (string, error) {
	if f.Enum == "" {
		return text, nil
	}
	values := []string{text}
	if f.Target.Kind() == reflect.Slice {
		values = strings.Split(text, ",")
	}
	for _, v := range values {
		if !f.EnumMap()[v] {
			return "", fmt.Errorf("is %q, which is none of %s", v, strings.Join(enumOf(f), ", "))
		}
	}
	return text, nil
}

// enumOf are the values that a flag may have, but for none.
func enumOf(f *kong.Flag) []string {
	return slices.DeleteFunc(strings.Split(f.Enum, ","), func(v string) bool { return v == "" })
}

// suggest names the setting that was probably meant.
func suggest(name string, names map[string]*kong.Flag) string {
	best, at := "", max(2, len(name)/3)+1
	for known := range names {
		if d := distance(name, known); d < at || d == at && best != "" && known < best {
			best, at = known, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best
}

// distance is how many characters have to be added, removed or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := left
			if a[i] != b[j] {
				cost++
			}
			left = row[j+1]
			row[j+1] = min(cost, row[j]+1, left+1)
		}
	}
	return row[len(b)]
}
