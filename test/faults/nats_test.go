package faults

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/beeos/beeos/test/ports"
)

const portVar = "FAULTS_PORT"

// natsServer is a NATS server that can be started again on the same port.
type natsServer struct {
	t    testing.TB
	port int
	proc *process
}

func newNATS(t testing.TB) *natsServer { return &natsServer{t: t, port: ports.Number(t)} }

func (s *natsServer) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.port) }

func (s *natsServer) start() {
	s.t.Helper()
	s.proc = start(s.t, "nats", os.Args[0], []string{roleVar + "=nats", portVar + "=" + strconv.Itoa(s.port)})
	s.proc.expect(s.proc.Out, "start", func(line string) bool { return line == "ready" })
}

// runNATS is the process behind a natsServer. It ends with its parent.
func runNATS() int {
	port, err := strconv.Atoi(os.Getenv(portVar))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		fmt.Fprintln(os.Stderr, "NATS does not start")
		return 1
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // only its end matters
	srv.Shutdown()
	return 0
}
