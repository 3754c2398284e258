package upstream

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Secrets come from the environment or from files, never from the command
// line, where every process of the machine can read them.

// ReadSecretEnv returns the value of an environment variable or, when NAME_FILE
// is set instead, what is in that file. Neither is no error.
func ReadSecretEnv(name string) (Secret, error) {
	if v := os.Getenv(name); v != "" {
		return Secret(v), nil
	}
	path := os.Getenv(name + "_FILE")
	if path == "" {
		return "", nil
	}
	v, err := readSecret(path)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return Secret(v), nil
}

func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	v := strings.TrimSpace(string(b))
	if v == "" {
		return "", fmt.Errorf("the file %s is empty; put the secret into it", path)
	}
	return v, nil
}

// ReadHeaders reads a file with one header per line, as in
// "X-Api-Key: secret"; blank lines and those that begin with # do not count.
func ReadHeaders(path string) (http.Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the headers: %w", err)
	}
	defer f.Close()
	h := http.Header{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !HeaderName.MatchString(name) { // the line itself may be a secret
			return nil, fmt.Errorf("%s:%d is not a header; write it as Name: value", path, n)
		}
		h.Add(name, strings.TrimSpace(value))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the headers: %w", err)
	}
	return h, nil
}

// HeaderName is what the name of a header looks like, reference a secret in a
// file.
var (
	HeaderName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	reference  = regexp.MustCompile(`\$\{([^{}]*)\}`)
)

// Secret says where a secret is: the secret itself does not stand in the file.
type Secret string

// UnmarshalYAML refuses everything but a reference.
func (s *Secret) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Value == "" || reference.FindString(n.Value) != n.Value {
		return fmt.Errorf("line %d: a secret is not allowed in this file; write ${env:NAME} or ${file:PATH}", n.Line)
	}
	*s = Secret(n.Value)
	return nil
}

// Resolve replaces the reference with the secret.
func (s *Secret) Resolve(dir string) error {
	text, err := Expand(string(*s), dir)
	*s = Secret(text)
	return err
}

// Expand replaces ${env:NAME} and ${file:PATH} in text. Relative paths are
// looked up in dir. What is missing is an error, not an empty secret.
func Expand(text, dir string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(text, func(ref string) string {
		v, err := resolveReference(ref[2:len(ref)-1], dir)
		if err != nil && failed == nil {
			failed = err
		}
		return v
	})
	return out, failed
}

func resolveReference(ref, dir string) (string, error) {
	kind, name, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		v := os.Getenv(name)
		if v == "" {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		return v, nil
	case "file":
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return readSecret(name)
	}
	return "", fmt.Errorf("${%s} is neither ${env:NAME} nor ${file:PATH}", ref)
}
