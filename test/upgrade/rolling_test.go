//go:build unix && upgrade

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// before is the version that this one must run beside, and that must be able to take
// its place again: a release, once there is one. Until then it is the last commit on
// main before the newest migration, so that the way back leads over one.
const before = "480c1e12"

// farEnd is the oldest commit that today's nodes are still tried beside. It does not
// know whom tables serve (there is no served.go), so there is no way back to it.
const farEnd = "1df3e75"

// upgradeFrom names another commit instead of the two.
const upgradeFrom = "UPGRADE_FROM"

// firstSDK is the commit whose SDK agents may still have.
const firstSDK = "b8003cc"

var root = func() string {
	dir, err := Root(context.Background())
	if err != nil {
		panic(err)
	}
	return dir
}()

func buildCommit(t *testing.T, commit string) Programs {
	t.Helper()
	p, err := BuildCommit(t.Context(), root, t.TempDir(), commit)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func buildTree(t *testing.T, args ...string) Programs {
	t.Helper()
	p, err := BuildTree(t.Context(), root, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fleet is nodes on one PostgreSQL that mesh.
type fleet struct {
	t     *testing.T
	dsn   string
	key   string
	nodes []*Node
}

func newFleet(t *testing.T, size int, p Programs) *fleet {
	t.Helper()
	f := &fleet{t: t, dsn: pgtest.Cluster(t, pgtest.Fsync).URL(t)}
	dir := t.TempDir()
	for i := range size {
		n, err := NewNode(dir, fmt.Sprint("node", i), "DATABASE_URL="+f.dsn, "BEEOS_CLUSTER_ADDR="+ports.Addr(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		t.Cleanup(func() { f.inspect(n) })
		f.nodes = append(f.nodes, n)
	}
	var err error
	if f.key, err = f.nodes[0].Owner(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, n := range f.nodes {
		f.start(n, p)
	}
	return f
}

func (f *fleet) start(n *Node, p Programs) {
	f.t.Helper()
	if err := n.Start(f.t.Context(), p); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) doors() (all []Door) {
	for _, n := range f.nodes {
		all = append(all, Open(n.REST, n.MCP, f.key))
	}
	return all
}

// connect has an agent at each node; they are one agent to callers.
func (f *fleet) connect(programs ...Programs) (all []*Agent) {
	f.t.Helper()
	identity := filepath.Join(f.t.TempDir(), "agent.json")
	for i, n := range f.nodes {
		a, err := StartAgent(f.t.Context(), programs[i%len(programs)], n.Agents, f.key, fmt.Sprintf("%s-%d", identity, i))
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(a.Kill)
		all = append(all, a)
	}
	return all
}

// replace puts another program in the place of each node, one by one, as
// docs/how-to/upgrading.md says: stop, start, wait until it is ready, go on.
func (f *fleet) replace(p Programs, agents []*Agent, between func()) {
	f.t.Helper()
	for i, n := range f.nodes {
		connected := agents[i].connections()
		if err := n.Stop(); err != nil {
			f.t.Fatal(err)
		}
		f.start(n, p)
		if err := agents[i].awaitConnections(f.t.Context(), connected+1); err != nil {
			f.t.Fatalf("%s: its agent does not come back: %v", n.Name, err)
		}
		between()
	}
}

func (a *Agent) connections() (n int) {
	for _, line := range a.Out.All() {
		if strings.HasPrefix(line, "connected ") {
			n++
		}
	}
	return n
}

func (a *Agent) awaitConnections(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	_, err := a.Out.Await(ctx, func(line string) bool {
		if strings.HasPrefix(line, "connected ") {
			n--
		}
		return n == 0
	})
	return err
}

var trouble = regexp.MustCompile(`panic: |"level":"ERROR"`)

// inspect looks for what must not be in a server's log.
func (f *fleet) inspect(n *Node) {
	for _, p := range append(n.earlier, n.Process) {
		for _, line := range p.Err.All() {
			if trouble.MatchString(line) {
				f.t.Errorf("%s: %s", n.Name, line)
			}
			if strings.Contains(line, "internal") {
				f.t.Logf("%s: %s", n.Name, line)
			}
		}
	}
}

func (f *fleet) verify(p Programs) {
	f.t.Helper()
	if out, err := f.nodes[0].Run(f.t.Context(), p, "verify"); err != nil {
		f.t.Errorf("%v\n%s", err, out)
	}
}

// knownBy is the version of the tables that a commit's programs make.
func knownBy(t *testing.T, commit string) int64 {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-tree", "--name-only", commit, "internal/store/migrations/").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(out))
	number, _, _ := strings.Cut(filepath.Base(names[len(names)-1]), "_")
	known, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// knowsServed tells whether the programs of a commit look up whom the tables serve.
func knowsServed(t *testing.T, commit string) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-tree", "--name-only", commit, "internal/store/served.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	return len(out) > 0
}

// TestRollingUpgrade replaces the nodes of a version before by today's, one by one,
// under load, with agents of both SDKs, and then goes back, if the old program is one
// that can.
func TestRollingUpgrade(t *testing.T) {
	now := buildTree(t)
	commits := []string{before, farEnd}
	if other := os.Getenv(upgradeFrom); other != "" {
		commits = []string{other}
	}
	for _, from := range commits {
		t.Run(from, func(t *testing.T) { rollThereAndBack(t, from, now) })
	}
}

func rollThereAndBack(t *testing.T, from string, now Programs) {
	old := buildCommit(t, from)
	f := newFleet(t, 3, old)
	agents := f.connect(old, now)
	l := startLoad(t, "there", f.doors(), agents[0].ID)
	l.more(50)
	t.Logf("from %s to this tree", from)
	f.replace(now, agents, func() { l.more(50) })
	l.end(agents...)
	f.verify(now)

	if !f.canGoBack(from, old) {
		return
	}
	t.Logf("and back to %s", from)
	l = startLoad(t, "back", f.doors(), agents[0].ID)
	l.more(50)
	f.replace(old, agents, func() { l.more(50) })
	l.end(agents...)
	f.verify(now)
}

// canGoBack tells whether there is a way back to the old program. There must be one,
// unless that program knows nothing of newer tables, or today's no longer serve it:
// then it has to refuse them.
func (f *fleet) canGoBack(from string, old Programs) bool {
	f.t.Helper()
	tables, err := store.Inspect(f.t.Context(), f.dsn)
	if err != nil {
		f.t.Fatal(err)
	}
	known := knownBy(f.t, from)
	if tables.Version <= known {
		return true
	}
	if tables.Oldest <= known && knowsServed(f.t, from) {
		f.t.Logf("tables of version %d serve the old program, which knows %d", tables.Version, known)
		return true
	}
	n := f.nodes[0]
	if err := n.Stop(); err != nil {
		f.t.Fatal(err)
	}
	if err := n.Start(f.t.Context(), old); err == nil || !strings.Contains(err.Error(), "newer version of BeeOS") {
		f.t.Fatalf("tables of version %d, which serve programs that know %d; the old one knows %d and does not refuse them: %v", tables.Version, tables.Oldest, known, err)
	}
	f.t.Logf("no way back: tables of version %d, and the old program, which knows %d, says so", tables.Version, known)
	return false
}

// TestWayBackOverMigration: tables that have been upgraded by a program of tomorrow
// serve this one if they were only added to, and are refused, with what to do, once
// tomorrow's programs no longer serve it.
func TestWayBackOverMigration(t *testing.T) {
	now := buildTree(t)
	adds := map[string]string{"9001_adds.sql": "-- +goose Up\nALTER TABLE agents ADD COLUMN tomorrow TEXT NOT NULL DEFAULT '';\nCREATE TABLE tomorrows (id TEXT PRIMARY KEY);\n"}
	next := buildTree(t, "-overlay", overlay(t, adds, ""))
	ends := map[string]string{"9001_adds.sql": adds["9001_adds.sql"], "9002_ends.sql": "-- +goose Up\nDROP TABLE tomorrows;\n"}
	last := buildTree(t, "-overlay", overlay(t, ends, "9001"))

	f := newFleet(t, 2, now)
	agents := f.connect(now)
	l := startLoad(t, "there and back", f.doors(), agents[0].ID)
	l.more(20)
	f.replace(next, agents, func() { l.more(20) })
	if tables, err := store.Inspect(t.Context(), f.dsn); err != nil || tables.Version != 9001 {
		t.Fatalf("%+v, %v", tables, err)
	}
	f.replace(now, agents, func() { l.more(20) })
	l.end(agents...)
	f.verify(now)

	f.replace(last, agents, func() {})
	n := f.nodes[0]
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	err := n.Start(t.Context(), now)
	if want := "tables of version 9002, which serve programs that know 9001; this one knows"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a program that the tables no longer serve: %v", err)
	}
}

// overlay says to go build that there are more migrations, and perhaps that older
// tables are served no longer.
func overlay(t *testing.T, migrations map[string]string, oldest string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	put := func(path, text string) {
		file := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, path)] = file
	}
	for name, text := range migrations {
		put("internal/store/migrations/"+name, text)
	}
	if oldest != "" {
		source, err := os.ReadFile(filepath.Join(root, "internal/store/served.go"))
		if err != nil {
			t.Fatal(err)
		}
		put("internal/store/served.go", regexp.MustCompile(`const oldestServed = \d+`).ReplaceAllString(string(source), "const oldestServed = "+oldest))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFirstSDK: an agent that was built with the SDK as it was at first does all that
// an agent can do at today's server.
func TestFirstSDK(t *testing.T) {
	first, now := buildCommit(t, firstSDK), buildTree(t)
	f := newFleet(t, 1, now)
	agents := f.connect(first)
	s := NewStory(agents[0].ID)
	if err := s.Tell(t.Context(), f.doors()[0]); err != nil {
		t.Fatal(err)
	}
	if n := len(agents[0].Begun()); n != 16 {
		t.Errorf("%d messages began, of 16: %+v", n, s)
	}
	f.verify(now)
}
