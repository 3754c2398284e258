//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// What pages name, and every operator has another one of.
const (
	pageData     = "/var/lib/beeos"
	pageBackup   = "/backups/2026-11-16"
	pageDatabase = "postgres://beeos:PASSWORD@db/beeos"
)

// TestOperatorPages follows backup.md, several-nodes.md and upgrading.md, from a
// server on SQLite to two on PostgreSQL that are replaced one by one.
func TestOperatorPages(t *testing.T) {
	s := newShell(t)
	s.program()
	data, restored, database := filepath.Join(s.folder, "beeos-data"), filepath.Join(s.folder, "restored"), pgtest.URL(t)
	mine := strings.NewReplacer(pageData, data, pageBackup, filepath.Join(s.folder, "backup"), pageDatabase, "'"+database+"'").Replace

	page := read(t, "docs/how-to/backup.md")
	blocks := page.blocks("")
	if len(blocks) != 4 {
		t.Fatalf("%s has %d blocks; this test runs 4: backup, restore, move, verify", page.name, len(blocks))
	}
	dev := s.start(s.folder, "beeos dev")
	dev.expect("Ctrl-C stops.")
	s.until(s.folder, `beeos call echo "good morning"`, "good morning")
	s.run(s.folder, mine(blocks[0]))
	s.run(s.folder, strings.ReplaceAll(mine(blocks[1]), data, restored))
	for _, folder := range []string{data, restored} { // of the server, live, and of its copy
		if said := s.run(s.folder, "export BEEOS_DATA="+folder+"\n"+blocks[3]); !strings.Contains(said, "messages") {
			t.Errorf("verify says %s", said)
		}
	}
	dev.interrupt()

	// Both ways; the old database has to be away.
	there, back, found := strings.Cut(strings.TrimSpace(blocks[2]), "\n")
	if !found {
		t.Fatalf("%s no longer shows the way there and back:\n%s", page.name, blocks[2])
	}
	s.run(s.folder, mine(there))
	s.run(s.folder, "mkdir away && mv beeos-data/beeos.db* away && "+mine(back)+" && rm beeos-data/beeos.db*")

	nodes := read(t, "docs/how-to/several-nodes.md")
	if !strings.Contains(nodes.text, there) || !strings.Contains(nodes.text, "`BEEOS_CLUSTER_ADDR=") {
		t.Fatalf("%s no longer moves to PostgreSQL with %q, or joins nodes with BEEOS_CLUSTER_ADDR", nodes.name, there)
	}
	one, two := newNode(t, s, data, database), newNode(t, s, data, database)
	one.start(t)
	two.start(t)
	key := strings.TrimSpace(s.run(s.folder, one.settings+"beeos keys create --owner ada@example.com"))
	worker := "export BEEOS_KEY=" + key + " AGENT_GATEWAY_URL=" + one.agents + "\nexec beeos connect --name shout --exec ./shout"
	program := read(t, "docs/start/agent-any-program.md").blocks("sh")[0]
	if err := os.WriteFile(filepath.Join(s.folder, "shout"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	shout := s.start(s.folder, worker)
	call := "export BEEOS_KEY=" + key + " BEEOS_URL="
	s.until(s.folder, call+two.rest+`; beeos call shout "good morning"`, "GOOD MORNING")

	upgrading := read(t, "docs/how-to/upgrading.md")
	for _, step := range []string{"Stop one node with SIGTERM.", "`beeos health`", "`beeos verify`, and `beeos doctor`."} {
		if !strings.Contains(upgrading.text, step) {
			t.Fatalf("%s no longer says %q, which this test does", upgrading.name, step)
		}
	}
	for _, n := range []*pageNode{one, two} {
		n.stop(t)
		n.start(t)
		for _, at := range []string{one.rest, two.rest} {
			s.until(s.folder, call+at+`; beeos call shout "all well"`, "ALL WELL")
		}
	}
	s.run(s.folder, one.settings+"beeos verify")
	s.run(s.folder, one.settings+"export BEEOS_KEY="+key+" BEEOS_URL="+one.rest+"\nbeeos doctor")
	shout.interrupt()
}

// pageNode is one of several servers, as the pages set them up.
type pageNode struct {
	shell        *shell
	settings     string // for commands on it
	rest, agents string
	running      *running
}

func newNode(t *testing.T, s *shell, data, database string) *pageNode {
	rest, agents := ports.Addr(t), ports.Addr(t)
	return &pageNode{shell: s, rest: "http://" + rest, agents: "http://" + agents, settings: strings.Join([]string{
		"export BEEOS_DATA=" + data, "DATABASE_URL='" + database + "'", "BEEOS_CLUSTER_ADDR=127.0.0.1:0", "BEEOS_ADMIN_ADDR=" + ports.Addr(t), "OPENAPI_ADDR=" + rest, "AGENT_GATEWAY_ADDR=" + agents,
	}, " ") + "\n"}
}

// start runs it and returns once it takes requests.
func (n *pageNode) start(t *testing.T) {
	t.Helper()
	n.running = n.shell.start(n.shell.folder, n.settings+"exec beeos serve")
	n.running.expect(`"msg":"ready"`)
	n.shell.run(n.shell.folder, n.settings+"beeos health")
}

func (n *pageNode) stop(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(n.running.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-n.running.done
	if code := n.running.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("a node that was told to stop ended with %d", code)
	}
}
