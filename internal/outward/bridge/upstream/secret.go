package upstream

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Secrets come from the environment or from files, never from the command
// line, where every process of the machine can read them.

// SecretEnv returns the value of an environment variable or, when NAME_FILE
// is set instead, what is in that file. Neither is no error.
func SecretEnv(name string) (string, error) {
	if v := os.Getenv(name); v != "" {
		return v, nil
	}
	path := os.Getenv(name + "_FILE")
	if path == "" {
		return "", nil
	}
	v, err := readSecret(path)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return v, nil
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

var (
	HeaderName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	Reference  = regexp.MustCompile(`\$\{([^{}]*)\}`)
)

// Expand replaces ${env:NAME} and ${file:PATH} in text. Relative paths are
// looked up in dir. What is missing is an error, not an empty secret.
func Expand(text, dir string) (string, error) {
	var failed error
	out := Reference.ReplaceAllStringFunc(text, func(ref string) string {
		v, err := resolve(ref[2:len(ref)-1], dir)
		if err != nil && failed == nil {
			failed = err
		}
		return v
	})
	return out, failed
}

func resolve(ref, dir string) (string, error) {
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
