// Package sandbox confines a program to one folder, with bubblewrap: of the machine
// it sees the system, to read, and that folder. Homes, temporary files and what
// other programs listen on are not there.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Options say what a program may reach.
type Options struct {
	Folder string   // to work in; absolute, without symbolic links
	Read   []string // more paths that it may read
	Write  []string // more paths that it may change
}

// Box is how programs are run in a sandbox.
type Box struct{ begin []string }

// system is what every program needs of a machine. What does not exist is left out.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"}

// New returns a sandbox that was tried out.
func New(o Options) (*Box, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, errors.New("--sandbox needs bubblewrap, which there is for Linux: apt-get install bubblewrap, or dnf install bubblewrap; or leave the option out")
	}
	if err := checkFolder(o.Folder); err != nil {
		return nil, err
	}
	begin, err := arguments(bwrap, o)
	if err != nil {
		return nil, err
	}
	b := &Box{begin}
	words := b.Wrap([]string{"true"}, o.Folder)
	if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("--sandbox does not work on this machine (%s); bubblewrap needs unprivileged user namespaces, which the kernel, AppArmor or a container may forbid: allow them, or leave the option out", upstream.Shorten(strings.TrimSpace(string(said))))
	}
	return b, nil
}

// CheckProgram says what to do when a program is not there in the sandbox.
func (b *Box) CheckProgram(program, dir string) error {
	words := b.Wrap([]string{"sh", "-c", `command -v -- "$1"`, "sh", program}, dir)
	if exec.Command(words[0], words[1:]...).Run() == nil {
		return nil
	}
	return fmt.Errorf("the program %s is not there in the sandbox; name the folder that it is installed in with --sandbox-read", program)
}

// checkFolder refuses folders that would leave nothing outside.
func checkFolder(folder string) error {
	home, _ := os.UserHomeDir() // none: then it cannot be in the folder
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
	}
	for _, much := range []string{home, "/usr", "/etc", "/tmp"} {
		if within, err := filepath.Rel(folder, much); much != "" && err == nil && filepath.IsLocal(within) {
			return fmt.Errorf("--sandbox: %s holds %s; give --cwd a folder of its own", folder, much)
		}
	}
	return nil
}

// arguments are those of bubblewrap, up to where the program stands.
func arguments(bwrap string, o Options) ([]string, error) {
	words := []string{bwrap, "--die-with-parent", "--new-session", "--unshare-all", "--share-net", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
	for _, path := range system {
		words = append(words, "--ro-bind-try", path, path)
	}
	if _, err := os.Stat("/etc/beeos"); err == nil {
		words = append(words, "--tmpfs", "/etc/beeos") // keys of servers and agents
	}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && !strings.HasPrefix(real, "/etc/") {
		words = append(words, "--ro-bind", real, real)
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.Dir(home) != home {
		words = append(words, "--tmpfs", home)
	}
	for _, more := range []struct {
		option, flag string
		paths        []string
	}{{"read", "--ro-bind", o.Read}, {"write", "--bind", o.Write}} {
		for _, path := range more.paths {
			if _, err := os.Stat(path); err != nil {
				return nil, fmt.Errorf("--sandbox-%s: there is no %s; make it, or leave it out", more.option, path)
			}
			words = append(words, more.flag, path, path)
		}
	}
	return append(words, "--bind", o.Folder, o.Folder, "--unsetenv", "SSH_AUTH_SOCK", "--unsetenv", "DBUS_SESSION_BUS_ADDRESS"), nil
}

// Wrap returns the command that runs another one in the sandbox, in a folder. env is
// more of its environment, as NAME=value: what bubblewrap itself must not have, for
// it could be told there to load something.
func (b *Box) Wrap(command []string, dir string, env ...string) []string {
	words := slices.Concat(b.begin, []string{"--chdir", dir})
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		words = append(words, "--setenv", name, value)
	}
	return slices.Concat(words, []string{"--"}, command)
}
