//go:build unix

// Package world is what a campaign breaks: servers, agents, the database and
// NATS as processes of their own, and between them lines (line.go) that go
// silent or slow. agent.go is the agent, nats.go the NATS servers; both are this
// program, run again. database.go is PostgreSQL, with a standby or
// without, disk_linux.go a disk that gets full.
package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/clock"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

// Layout is what a world consists of.
type Layout struct {
	Nodes    int
	Agents   int  // at one node after the other
	Bare     int  // nodes without an agent: who calls there is answered by way of another
	Postgres bool // else SQLite, with one node
	Standby  bool // of PostgreSQL, which can take over
	Apart    bool // two nodes that mesh do so by lines
	OwnDisk  bool // for the data of SQLite, which can be full
	Clocks   bool // of the nodes, which can be wrong
	NATS     int  // servers of a cluster of its own; with none the nodes mesh
}

// World is what is running.
type World struct {
	Layout Layout
	Dir    string
	Key    string // of the person who owns everything
	Nodes  []*Node
	Agents []*Agent

	Database *Database // nil with SQLite
	NATS     []*NATS   // none where the nodes mesh
	Disk     *Disk     // of node 1; nil unless it has one of its own
	Mesh     Lines     // between nodes that mesh; none unless they are apart

	binary string
	free   []func()
	lines  []*Line
}

// Node is one server, which comes back on the same ports and data.
type Node struct {
	Name           string
	MCP, REST, A2A string       // URLs
	Database       Lines        // none with SQLite
	NATS           Lines        // none where nodes mesh
	Clock          *clock.Clock // nil where clocks are right

	agents, mesh string // host:port of the agent gateway, and of the mesh
	env          []string
	world        *World
	proc         *program.Process
}

// readyWithin is generous: the machine may be busy.
const readyWithin = time.Minute

const againAfter = 200 * time.Millisecond // a server that did not start is tried again

// Start builds a world in a folder. Its parts run until Stop.
func Start(ctx context.Context, dir, binary string, layout Layout) (w *World, err error) {
	w = &World{Layout: layout, Dir: dir, binary: binary}
	defer func() {
		if err != nil {
			w.Stop()
		}
	}()
	if layout.OwnDisk {
		if w.Disk, err = mountDisk(w.data(0)); err != nil {
			return w, err
		}
	}
	if layout.Postgres {
		if w.Database, err = startDatabase(layout.Standby); err != nil {
			return w, err
		}
	}
	if err := startNATS(ctx, w, layout.NATS); err != nil {
		return w, err
	}
	for i := range layout.Nodes {
		n, err := w.layOut(i)
		if err != nil {
			return w, err
		}
		w.Nodes = append(w.Nodes, n)
	}
	if w.Key, err = w.createKey(ctx); err != nil {
		return w, err
	}
	if layout.Apart {
		if err := w.layMesh(ctx); err != nil {
			return w, err
		}
	}
	for _, n := range w.Nodes {
		if err := n.Start(ctx); err != nil {
			return w, err
		}
	}
	if layout.Apart {
		if err := w.awaitMesh(ctx); err != nil {
			return w, err
		}
	}
	for i := range layout.Agents {
		a, err := w.newAgent(i, w.Nodes[i%(len(w.Nodes)-layout.Bare)])
		if err != nil {
			return w, err
		}
		w.Agents = append(w.Agents, a)
		if err := a.Start(ctx); err != nil {
			return w, err
		}
	}
	return w, nil
}

// reserve returns addresses that belong to this world until it ends.
func (w *World) reserve(n int) ([]string, error) {
	addrs, free, err := ports.Addrs(n)
	if err == nil {
		w.free = append(w.free, free)
	}
	return addrs, err
}

// line lays a line that ends with the world.
func (w *World) line(network, peer string) (*Line, error) {
	l, err := NewLine(network, peer)
	if err == nil {
		w.lines = append(w.lines, l)
	}
	return l, err
}

// data is the folder of a node.
func (w *World) data(node int) string { return filepath.Join(w.Dir, fmt.Sprint("data", node)) }

func (w *World) layOut(i int) (*Node, error) {
	addrs, err := w.reserve(5)
	if err != nil {
		return nil, err
	}
	n := &Node{
		Name: fmt.Sprint("node ", i+1), world: w, agents: addrs[3], mesh: addrs[4],
		MCP: "http://" + addrs[0], REST: "http://" + addrs[1], A2A: "http://" + addrs[2],
	}
	n.env = []string{
		"BEEOS_DATA=" + w.data(i), "BEEOS_RATE_LIMIT=1000000000", "BEEOS_ALLOW_PRIVATE=true", "LOG_LEVEL=warn",
		"MCP_ADDR=" + addrs[0], "OPENAPI_ADDR=" + addrs[1], "A2A_ADDR=" + addrs[2], "AGENT_GATEWAY_ADDR=" + addrs[3],
		"WEB_ADDR=127.0.0.1:0", "BEEOS_ADMIN_ADDR=off",
	}
	if w.Layout.Clocks {
		if n.Clock, err = clock.New(filepath.Join(w.Dir, fmt.Sprint("clock", i))); err != nil {
			return nil, err
		}
		n.env = append(n.env, n.Clock.Env())
	}
	if w.Layout.Postgres {
		var address string
		if n.Database, address, err = w.Database.connect(w); err != nil {
			return nil, err
		}
		n.env = append(n.env, "DATABASE_URL="+address)
	}
	if len(w.NATS) == 0 && w.Layout.Nodes > 1 {
		n.env = append(n.env, "BEEOS_CLUSTER_ADDR="+n.mesh)
	}
	var ways []string
	for _, s := range w.NATS {
		l, err := w.line("tcp", s.spec.Clients)
		if err != nil {
			return nil, err
		}
		n.NATS, ways = append(n.NATS, l), append(ways, "nats://"+l.Addr)
	}
	if len(ways) > 0 {
		n.env = append(n.env, "NATS_URL="+strings.Join(ways, ","))
	}
	return n, nil
}

// createKey makes the person who owns everything, on the database itself.
func (w *World) createKey(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, w.binary, "keys", "create", "--owner", "owner@example.com")
	cmd.Env = append([]string{"HOME=" + w.Dir}, w.Nodes[0].env...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("make a key: %w\n%s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Start runs the server and returns once it is ready. One that ends before that,
// because the database is away, say, is started again, as an init system does.
func (n *Node) Start(ctx context.Context) (err error) {
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.world.Dir}, n.env...)
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		if n.proc, err = program.Start(n.Name, env, n.world.binary, "serve"); err != nil {
			return err
		}
		err := awaitReady(ctx, n.REST+"/readyz", n.proc.Ended())
		if err == nil {
			return nil
		}
		if !errors.Is(err, errEnded) || !wait(ctx, againAfter) {
			return fmt.Errorf("%s: %w\n%s", n.Name, err, n.proc.Text())
		}
	}
}

// Kill ends the server as a power cut would.
func (n *Node) Kill() { n.proc.Kill() }

// Terminate asks the server to stop, as an init system does.
func (n *Node) Terminate() error {
	code, err := n.proc.Terminate(time.Minute)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s ended with %d", n.Name, code)
	}
	return err
}

// Freeze stops the process where it is; Thaw lets it go on.
func (n *Node) Freeze() { sendSignal(n.proc, syscall.SIGSTOP) }
func (n *Node) Thaw()   { sendSignal(n.proc, syscall.SIGCONT) }

func sendSignal(p *program.Process, s syscall.Signal) {
	syscall.Kill(p.Pid(), s) //nolint:errcheck // whatever is gone cannot be stopped
}

// Logs are the server's last lines.
func (n *Node) Logs() string {
	lines := strings.Split(strings.TrimSpace(n.proc.Text()), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// Repair makes whole what has to be before the next thing is broken: the standby
// that took over gets one of its own.
func (w *World) Repair() error {
	if w.Database == nil {
		return nil
	}
	return w.Database.Repair()
}

// Open opens the database behind the servers' backs.
func (w *World) Open(ctx context.Context) (*store.Store, error) {
	if w.Database != nil {
		return w.Database.open(ctx)
	}
	return store.Open(ctx, "sqlite:"+filepath.Join(w.data(0), "beeos.db"))
}

// Stop ends everything.
func (w *World) Stop() {
	for _, a := range w.Agents {
		a.stop()
	}
	for _, n := range w.Nodes {
		if n.proc != nil {
			n.Thaw()
			n.proc.Kill()
		}
	}
	for _, s := range w.NATS {
		s.stop()
	}
	for _, l := range w.lines {
		l.Close()
	}
	if w.Database != nil {
		w.Database.stop()
	}
	if w.Disk != nil {
		w.Disk.unmount() //nolint:errcheck // it is forgotten with the machine at the latest
	}
	for _, free := range w.free {
		free()
	}
}
