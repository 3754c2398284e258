// Package folder is the folder in which a coding agent may work. A Folder says
// whether a path leads out of it (folder.go), finds such paths in what an agent
// says about a tool call (mentioned.go), and reads and writes texts, which
// neither ".." nor a symbolic link takes elsewhere (text.go).
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is one that is open.
type Folder struct {
	Path  string // absolute, without symbolic links
	given string // absolute, as it was asked for
	root  *os.Root
}

// Open opens a folder that exists.
func Open(path string) (*Folder, error) {
	given, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &Folder{Path: real, given: given, root: root}, nil
}

// Close lets go of the folder.
func (f *Folder) Close() { f.root.Close() } //nolint:errcheck // nothing was written through it

// Outside is the error for a path that leads out of the folder.
type Outside struct{ Path string }

func (e *Outside) Error() string {
	return fmt.Sprintf("%q is outside of the folder that this agent may work in", e.Path)
}

// Find returns the path within the folder that an agent means: a path, absolute or
// from the folder on, or a file:// address.
func (f *Folder) Find(path string) (within string, err error) {
	within, ok := f.relative(path)
	if !ok || !f.holds(within) {
		return "", &Outside{path}
	}
	return within, nil
}

// relative is where a path lies in the folder, going by its words alone.
func (f *Folder) relative(path string) (string, bool) {
	if strings.ContainsRune(path, 0) || strings.HasPrefix(path, "~") {
		return "", false
	}
	if strings.HasPrefix(strings.ToLower(path), fileScheme) {
		u, err := url.Parse(path)
		if err != nil || u.Host != "" && u.Host != "localhost" {
			return "", false
		}
		path = filepath.FromSlash(u.Path)
	}
	if !filepath.IsAbs(path) {
		within := filepath.Clean(path)
		return within, filepath.IsLocal(within)
	}
	for _, base := range []string{f.Path, f.given} {
		if within, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(within) {
			return within, true
		}
	}
	return "", false
}

const fileScheme = "file://"

// holds reports whether no symbolic link on the way leads out of the folder. What
// does not exist yet is looked for in the folders above it.
func (f *Folder) holds(within string) bool {
	for ; ; within = filepath.Dir(within) {
		_, err := f.root.Stat(within)
		switch {
		case err == nil || errors.Is(err, fs.ErrPermission):
			return true
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return false // it leaves the folder, or goes round in circles
		case within == ".":
			return true // the folder itself is gone: there is nothing that could lead out of it
		}
	}
}
