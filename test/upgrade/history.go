// Package upgrade shows that what one version of BeeOS has kept and promised, the
// next ones keep: data of past versions, of both databases, is opened by the newest
// program (data_test.go), and nodes of two versions run side by side (rolling_test.go,
// make upgrade).
//
// history.go builds programs from past commits, node.go runs them, story.go and
// more.go are what they are asked to do and what is remembered of it, data.go how data is packed and
// unpacked. The program in fixtures makes testdata; the one in agent is the agent
// of all of them.
package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Programs are the two programs of one version.
type Programs struct{ Server, Agent string }

// agentPath is where the agent lies in this tree, and is put in others.
const agentPath = "test/upgrade/agent"

// builtVar names a folder with programs that are there already, each in a folder named
// after its commit: those of a release, for example.
const builtVar = "UPGRADE_PROGRAMS"

// BuildCommit builds the programs as they were at a commit of the repository in
// root, in a new folder inside of dir.
func BuildCommit(ctx context.Context, root, dir, commit string) (Programs, error) {
	if folder := filepath.Join(os.Getenv(builtVar), commit); os.Getenv(builtVar) != "" {
		return programsIn(folder), nil
	}
	tree := filepath.Join(dir, "tree-"+commit)
	if err := os.Mkdir(tree, 0o700); err != nil {
		return Programs{}, err
	}
	archive := exec.CommandContext(ctx, "git", "-C", root, "archive", "--format=tar", commit)
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", tree)
	var said bytes.Buffer
	archive.Stderr, unpack.Stderr = &said, &said
	var err error
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		return Programs{}, err
	}
	if err := unpack.Start(); err != nil {
		return Programs{}, err
	}
	if err := archive.Run(); err != nil {
		return Programs{}, fmt.Errorf("read commit %s; is the history here? git fetch --unshallow: %w\n%s", commit, err, &said)
	}
	if err := unpack.Wait(); err != nil {
		return Programs{}, fmt.Errorf("unpack commit %s: %w\n%s", commit, err, &said)
	}
	// Today's agent with the SDK of that time.
	source, err := os.ReadFile(filepath.Join(root, agentPath, "main.go"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(tree, agentPath), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(tree, agentPath, "main.go"), source, 0o600)
	}
	if err != nil {
		return Programs{}, err
	}
	return BuildTree(ctx, tree, filepath.Join(dir, commit))
}

func programsIn(folder string) Programs {
	return Programs{Server: filepath.Join(folder, "beeos"), Agent: filepath.Join(folder, "agent")}
}

// BuildTree builds the programs of a tree into a folder; args are for go build.
func BuildTree(ctx context.Context, tree, folder string, args ...string) (Programs, error) {
	p := programsIn(folder)
	for path, pkg := range map[string]string{p.Server: "./cmd/beeos", p.Agent: "./" + agentPath} {
		build := exec.CommandContext(ctx, "go", append(append([]string{"build"}, args...), "-o", path, pkg)...)
		build.Dir = tree
		if out, err := build.CombinedOutput(); err != nil {
			return Programs{}, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return p, nil
}

// Root is the folder of the repository that the working directory is in.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}
