package config

import (
	"errors"
	"fmt"
	"os"
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
