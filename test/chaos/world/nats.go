//go:build unix

package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/beeos/beeos/test/program"
)

// NATS is one server of a cluster, which comes back on the same ports.
type NATS struct {
	Name string

	spec natsSpec
	proc *program.Process
}

// natsSpec is what its process is told, all as host:port.
type natsSpec struct {
	Clients, Cluster string
	Others           []string // where the others' clusters are
}

// startNATS starts a cluster of so many servers.
func startNATS(ctx context.Context, w *World, n int) error {
	clients, err1 := w.reserve(n)
	cluster, err2 := w.reserve(n)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for i := range n {
		s := &NATS{Name: fmt.Sprint("NATS ", i+1), spec: natsSpec{clients[i], cluster[i], slices.Concat(cluster[:i], cluster[i+1:])}}
		w.NATS = append(w.NATS, s)
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Start runs the server and returns once clients can connect.
func (n *NATS) Start(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(n.spec)
	if err != nil {
		return err
	}
	if n.proc, err = program.Start(n.Name, []string{roleVar + "=nats", specVar + "=" + string(text)}, self); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	_, err = n.proc.Out.Await(ctx, func(line string) bool { return line == "ready" })
	return err
}

// Kill ends the server as a power cut would.
func (n *NATS) Kill() { n.proc.Kill() }

// Freeze stops the process where it is; Thaw lets it go on.
func (n *NATS) Freeze() { sendSignal(n.proc, syscall.SIGSTOP) }
func (n *NATS) Thaw()   { sendSignal(n.proc, syscall.SIGCONT) }

// Terminate asks the server to stop, as an init system does.
func (n *NATS) Terminate() error {
	_, err := n.proc.Terminate(time.Minute)
	return err
}

func (n *NATS) stop() {
	if n.proc != nil {
		n.Thaw()
		n.proc.Kill()
	}
}

// runNATS is the process behind it. It ends with its parent.
func runNATS() error {
	var s natsSpec
	if err := json.Unmarshal([]byte(os.Getenv(specVar)), &s); err != nil {
		return err
	}
	// Clients are not told of other addresses: they come by the lines that they know.
	opts := &server.Options{NoLog: true, Cluster: server.ClusterOpts{Name: "chaos", NoAdvertise: true}}
	var err1, err2 error
	opts.Host, opts.Port, err1 = hostPort(s.Clients)
	opts.Cluster.Host, opts.Cluster.Port, err2 = hostPort(s.Cluster)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, other := range s.Others {
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: other})
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.Start()
	if !srv.ReadyForConnections(time.Minute) {
		return fmt.Errorf("NATS does not start on %s", s.Clients)
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // only its end matters
	srv.Shutdown()
	return nil
}

func hostPort(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}
