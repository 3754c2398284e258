// Release makes everything that a version of BeeOS is shipped as, into one folder,
// without Docker, and without a network but for what builds the SDKs:
//
//	go run -C tools ./release -version 0.2.0 -out ../dist
//
// main.go says in which order, slim.go and build.go compile, archive.go packs what people
// download, packages.go makes deb and rpm, image.go the container image, sbom.go
// says what is inside, sdks.go makes what pip and npm install, formula.go is for Homebrew. The same source gives the same
// bytes: times come from the last commit, or from SOURCE_DATE_EPOCH.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is one run.
type release struct {
	root    string // of the repository
	out     string
	version string
	at      time.Time // of everything that has a time
	targets []target
	roots   string // file with the certificates that the image trusts
	base    string // where others will download from
}

// target is a system to build for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

var allTargets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// steps are what can be made, in order; each builds on those before it.
var steps = []struct {
	name string
	do   func(*release) error
}{
	{"slim", (*release).slim},
	{"binaries", (*release).buildAll},
	{"extras", (*release).writeExtras},
	{"archives", (*release).packAll},
	{"sbom", (*release).describeAll},
	{"packages", (*release).makePackages},
	{"image", (*release).makeImage},
	{"sdks", (*release).makeSDKs},
	{"formula", (*release).writeFormula},
	{"installer", (*release).copyInstaller},
	{"sums", (*release).writeSums},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "version to ship, without a v; empty = what the program says of itself")
	out := flags.String("out", "../dist", "folder to write to; it is emptied first")
	targets := flags.String("targets", "", "systems to build for, such as linux/amd64,darwin/arm64; empty = all")
	only := flags.String("steps", "", "which of slim, binaries, extras, archives, sbom, packages, image, sdks, formula, installer, sums to make; empty = all")
	roots := flags.String("roots", "/etc/ssl/certs/ca-certificates.crt", "certificates that the image trusts")
	base := flags.String("base", "https://github.com/beeos/beeos/releases/download", "where the files will be downloaded from")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{roots: *roots, base: *base}
	if err := errors.Join(r.find(*out), r.choose(*version, *targets)); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	for _, s := range steps {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), s.name) {
			continue
		}
		began := time.Now()
		if err := s.do(r); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("%-9s %s\n", s.name, time.Since(began).Round(100*time.Millisecond))
	}
	if *only != "" { // somebody looks at a step, and may want to see what it left
		return nil
	}
	return r.clear()
}

// find finds the repository, from the folder of this module.
func (r *release) find(out string) (err error) {
	if r.root, err = filepath.Abs(".."); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.root, "cmd", "beeos")); err != nil {
		return fmt.Errorf("run this in the folder tools, as in go run -C tools ./release: %w", err)
	}
	r.out, err = filepath.Abs(out)
	return err
}

var versionLine = regexp.MustCompile(`(?m)^var Version = "([^"]+)"`)

func (r *release) choose(version, targets string) error {
	text, err := os.ReadFile(filepath.Join(r.root, "beeos.go"))
	if err != nil {
		return err
	}
	if r.version = version; version == "" {
		m := versionLine.FindSubmatch(text)
		if m == nil {
			return errors.New("beeos.go does not say which version it is; give -version")
		}
		r.version = string(m[1])
	}
	if strings.HasPrefix(r.version, "v") || strings.ContainsAny(r.version, " /_") {
		return fmt.Errorf("%q is no version; write 1.2.3", r.version)
	}
	if r.targets = allTargets; targets != "" {
		r.targets = nil
		for name := range strings.SplitSeq(targets, ",") {
			i := slices.IndexFunc(allTargets, func(t target) bool { return t.String() == name })
			if i < 0 {
				return fmt.Errorf("%q is none of the targets %v", name, allTargets)
			}
			r.targets = append(r.targets, allTargets[i])
		}
	}
	r.at, err = r.sourceTime()
	return err
}

// sourceTime is the time that is written into everything.
func (r *release) sourceTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "-C", r.root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("ask git for the time of the last commit, or set SOURCE_DATE_EPOCH: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is no number of seconds: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// work is a folder inside the output for what is not shipped.
func (r *release) work(parts ...string) string {
	return filepath.Join(append([]string{r.out, ".work"}, parts...)...)
}

// clear removes it.
func (r *release) clear() error { return os.RemoveAll(r.work()) }

// shipped is the name of something that people download.
func (r *release) shipped(t target, suffix string) string {
	return filepath.Join(r.out, fmt.Sprintf("beeos_%s_%s_%s%s", r.version, t.os, t.arch, suffix))
}

// copyInstaller ships the script that finds and checks the rest. It comes before the
// sums, which are of everything.
func (r *release) copyInstaller() error {
	text, err := os.ReadFile(filepath.Join(r.root, "scripts", "install.sh"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "install.sh"), text, 0o755)
}

// writeSums writes the sums of all that is shipped, as sha256sum -c reads them.
func (r *release) writeSums() error {
	list, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range list {
		if !e.Type().IsRegular() {
			continue
		}
		sum, err := sumOf(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(text.String()), 0o644)
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
