// Package faults runs BeeOS the way it is run for real, as processes, and then
// hurts it: kill -9 of agents and servers under load, shutdown in the middle
// of calls, two nodes that race. Callers, agents and the database are then
// asked whether anything that was promised was lost or done twice.
//
// The server is the real binary, built once (main_test.go). process_test.go
// ties a process to its test; node_test.go makes one a server, agent_test.go
// and nats_test.go run this test binary again as an agent or as a NATS server,
// rawagent_test.go is an agent by hand. Callers call in (caller_test.go,
// rpc_test.go), wait in every way there is (waiting_test.go) or keep a server
// busy (load_test.go); ledger_test.go reads the database behind the server's
// back. The other files are the tests: calls across nodes (nodes_test.go,
// delivery_test.go), a dead agent (agentdeath_test.go) and one that talks
// garbage (garbage_test.go), a dead server (serverdeath_test.go), one that
// stops in order (shutdown_test.go), the loss of what servers stand on
// (outage_test.go) and of any piece in turn (answers_test.go), the quota that
// servers keep together (quota_test.go), budgets that three of them share (budget_test.go), calls that must not happen twice
// (idempotency_test.go), replays of many calls that are broken off
// (replay_test.go), backups of a busy server (backup_test.go), its continuous copy by Litestream
// (litestream_test.go, behind a build tag), what the service
// manager hears (systemd_test.go), what answers took, added up (usage_test.go),
// traces (trace_test.go) and the pages of calls that outlived everybody
// (callpage_test.go), calls that wait for a person (approval_test.go), also those of a built-in agent, whose tools must not run
// twice (hands_test.go), watchers whose connections (frayed_test.go) are cut
// again and again (watch_test.go), a killed sender of webhooks
// (webhooks_test.go) and of notifications (notifications_test.go), strangers who never end what they begin
// (halfsent_test.go), and other people's servers that send too much or too
// little, called by the server (hostile_test.go), behind a bridge
// (hostile_bridge_test.go) or as agents (hostile_agent_test.go, which speaks by
// rawsocket_test.go), all of it beside somebody who just goes on calling
// (bystander_test.go).
package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	// The program under test is built beside this binary. Importing it as well
	// tells go test that yesterday's result is none of today's program.
	_ "github.com/beeos/beeos/internal/cli"
)

// roleVar makes this binary, run again, something other than a test.
const roleVar = "FAULTS_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "agent":
		os.Exit(runAgent())
	case "bystander":
		os.Exit(runBystander())
	case "nats":
		os.Exit(runNATS())
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // those that are parallel hardly do anything but wait
		panic(err)
	}
	code := m.Run()
	chromium.Close()
	if built.dir != "" {
		os.RemoveAll(built.dir) //nolint:errcheck // a temporary folder
	}
	os.Exit(code)
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

// binary builds the real program, with the race detector when the tests have
// it, and returns its path.
func binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "beeos-faults-"); built.err != nil {
			return
		}
		args := []string{"build", "-o", filepath.Join(built.dir, "beeos")}
		if raceEnabled {
			args = append(args, "-race")
		}
		out, err := exec.Command("go", append(args, "github.com/beeos/beeos/cmd/beeos")...).CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build the program under test: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "beeos")
}

// patience is how long anything that happens at once may take on a machine
// that has other things to do.
const patience = 30 * time.Second

// much is the number of repetitions: all of them, or fewer where the race
// detector or -short make the whole thing an exercise.
func much(all, fewer int) int {
	if raceEnabled || testing.Short() {
		return fewer
	}
	return all
}
