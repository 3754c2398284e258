package folder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxPath is how long a text may be that is taken for a path.
const maxPath = 4096

// The names of arguments of tools, by what their values are.
var (
	pathNames = regexp.MustCompile(`(?i)(path|file|filename|folder|dir|directory|cwd|workdir|uri)s?$`)
	// Programs lie where the machine has them; texts may say anything.
	otherNames = regexp.MustCompile(`(?i)(command|cmd|args?|argv|program|executable|shell|text|string|content|source|code|message|prompt|description|pattern|regexp?|query|url)s?$`)
)

// FindOutside returns an *Outside for a path in a tool's arguments that leads out of
// the folder; nil = there is none. A path is what an argument that is called one holds,
// a file:// address, or an absolute path that leads to something on this machine.
// Commands and texts are not looked through: what they reach, nobody can tell.
func (f *Folder) FindOutside(arguments json.RawMessage) error {
	var v any
	if len(arguments) == 0 || json.Unmarshal(arguments, &v) != nil {
		return nil
	}
	return f.findOutside(v, "")
}

// findOutside is FindOutside for what has a name.
func (f *Folder) findOutside(v any, name string) (err error) {
	switch v := v.(type) {
	case map[string]any:
		for member, inner := range v {
			err = f.findOutside(member, "") // a list of changes may have paths for names
			if err == nil {
				err = f.findOutside(inner, member)
			}
			if err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := f.findOutside(inner, name); err != nil {
				return err
			}
		}
	case string:
		if isPath(name, v) {
			_, err = f.Find(v)
		}
	}
	return err
}

// isPath reports whether an argument is meant to be a path.
func isPath(name, value string) bool {
	switch {
	case value == "" || len(value) > maxPath || strings.ContainsAny(value, "\n\r"):
		return false
	case strings.HasPrefix(strings.ToLower(value), fileScheme):
		return true
	case strings.Contains(value, "://"):
		return false
	case pathNames.MatchString(name):
		return true
	case otherNames.MatchString(name) || !filepath.IsAbs(value):
		return false
	}
	return leadsSomewhere(filepath.Clean(value))
}

// leadsSomewhere reports whether a path, or the folder that it would be in, exists.
func leadsSomewhere(path string) bool {
	if _, err := os.Lstat(path); err == nil {
		return true
	}
	above := filepath.Dir(path)
	if filepath.Dir(above) == above {
		return false // in the root of the machine: "/etcetera" may be anything
	}
	_, err := os.Lstat(above)
	return err == nil
}
