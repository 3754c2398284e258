//go:build unix

package world

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/beeos/beeos/test/program"
)

// NATS is a server of its own, which comes back on the same port.
type NATS struct {
	URL string

	addr string
	proc *program.Process
}

func startNATS(ctx context.Context, w *World) (*NATS, error) {
	addrs, err := w.reserve(1)
	if err != nil {
		return nil, err
	}
	n := &NATS{URL: "nats://" + addrs[0], addr: addrs[0]}
	return n, n.Start(ctx)
}

// Start runs the server.
func (n *NATS) Start(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if n.proc, err = program.Start("nats", []string{roleVar + "=nats", addrVar + "=" + n.addr}, self); err != nil {
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

func (n *NATS) stop() {
	if n.proc != nil {
		n.Thaw()
		n.proc.Kill()
	}
}

const addrVar = "CHAOS_ADDR"

// runNATS is the process behind it. It ends with its parent.
func runNATS() error {
	host, port, _ := strings.Cut(os.Getenv(addrVar), ":")
	opts := &server.Options{Host: host, NoSigs: true, NoLog: true}
	if _, err := fmt.Sscan(port, &opts.Port); err != nil {
		return err
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.Start()
	if !srv.ReadyForConnections(time.Minute) {
		return fmt.Errorf("NATS does not start on %s", os.Getenv(addrVar))
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // only its end matters
	srv.Shutdown()
	return nil
}
