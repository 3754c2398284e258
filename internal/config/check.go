package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/alecthomas/kong"
)

// CheckFile returns all that is wrong with a file of settings, together with the
// environment that this program has. It does not look at the machine: whether the
// data folder can be written is seen at the start.
func CheckFile(path string) ([]Problem, error) {
	c := Config{origins: map[string]string{}}
	if err := c.setDefaults(); err != nil {
		return nil, err
	}
	c.readEnv()
	problems, err := c.readFile(path)
	if fault, ok := errors.AsType[*FileError](err); ok {
		return fault.Problems, nil
	}
	if err != nil {
		return nil, err
	}
	c.noteOrigins(nil)
	c.fill()
	for _, check := range c.checks() {
		if err := check(); err != nil {
			problems = append(problems, c.place(err))
		}
	}
	return problems, nil
}

// OfServer returns the settings of the server on this machine, for commands that are
// told no more of it than its data folder and its database: what the environment and
// the file of settings say besides. A folder or database that is named counts more
// than either; an empty one, and the folder that nobody has to name, counts as not
// named. dev says that the server is beeos dev, which leaves the system's file alone.
func OfServer(data, databaseURL string, dev bool) (Config, error) {
	c := Config{origins: map[string]string{}}
	if err := c.setDefaults(); err != nil {
		return c, err
	}
	usual := c.Data
	c.readEnv()
	named := data != "" && filepath.Clean(data) != filepath.Clean(usual)
	if named {
		c.Data = data
	}
	if path := findFile(c.File, c.Data, dev); path != "" {
		problems, err := c.readFile(path)
		if err == nil && len(problems) > 0 {
			err = &FileError{path, problems}
		}
		if err != nil {
			return c, err
		}
	}
	if named {
		c.Data = data
	}
	c.DatabaseURL = cmp.Or(databaseURL, c.DatabaseURL)
	c.fill()
	return c, nil
}

// readEnv sets what the environment says, as kong does for commands. What it cannot
// read is the environment's fault.
func (c *Config) readEnv() {
	for _, f := range c.flags() {
		for _, name := range f.Envs {
			if text := os.Getenv(name); text != "" {
				f.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text}), f.Target) //nolint:errcheck // see above
			}
		}
	}
	c.readSecretFiles() //nolint:errcheck // see above
}

var envName = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b`)

// place finds the line of the file that an error is about, and says it with the
// names of the file. Line is 0 when the file has nothing to do with it.
func (c *Config) place(err error) Problem {
	p := Problem{Text: err.Error()}
	names := map[string]string{}
	for _, f := range c.flags() {
		if c.lines[f.Name] > 0 {
			names[f.Envs[0]] = f.Name
		}
	}
	p.Text = envName.ReplaceAllStringFunc(p.Text, func(env string) string {
		name, ok := names[env]
		if !ok {
			return env
		}
		if p.Line == 0 {
			p.Line, p.Setting = c.lines[name], name
		}
		return name
	})
	return p
}

// inFile says where in the file an error of Validate comes from, if it does.
func (c *Config) inFile(err error) error {
	if p := c.place(err); p.Line > 0 {
		return &FileError{c.path, []Problem{p}}
	}
	return err
}

// fromFile is the origin of a setting that the file sets.
func (c *Config) fromFile(f *kong.Flag) string {
	if line := c.lines[f.Name]; line > 0 {
		return fmt.Sprintf("file %s:%d", c.path, line)
	}
	return ""
}
