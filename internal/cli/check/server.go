package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/beeos/beeos/internal/app"
)

// look is how often something is looked at that cannot be waited for.
const look = 10 * time.Millisecond

// server is a beeos dev in a folder of its own, which can be killed and comes back.
type server struct {
	path string // of this very program
	dir  string
	out  *tail
	proc *process
	dev  app.DevFile
}

func (s *server) dataFolder() string { return filepath.Join(s.dir, "data") }

// start runs the server, with its agent gateway at this address, and returns once
// it is ready.
func (s *server) start(ctx context.Context, gateway string) error {
	before, _ := os.Stat(s.devFile()) // nil: it is the first start
	env := []string{
		"HOME=" + s.dir, "XDG_CONFIG_HOME=" + s.dir, "AppData=" + s.dir, "BEEOS_DATA=" + s.dataFolder(), "AGENT_GATEWAY_ADDR=" + gateway,
		"BEEOS_RATE_LIMIT=1000000000", "LOG_LEVEL=warn", "NO_COLOR=1",
	}
	for _, name := range []string{"MCP_ADDR", "A2A_ADDR", "OPENAPI_ADDR", "WEB_ADDR"} {
		env = append(env, name+"=127.0.0.1:0")
	}
	for _, name := range []string{"PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	var err error
	if s.proc, err = startProcess(env, s.out, s.path, os.Args[0], "dev"); err != nil {
		return err
	}
	if err := s.awaitReady(ctx, before); err != nil {
		return fmt.Errorf("the server is not ready: %w\n%s", err, s.out)
	}
	s.dev, err = app.ReadDevFile(s.dataFolder())
	return err
}

func (s *server) devFile() string { return filepath.Join(s.dataFolder(), "dev.json") }

// awaitReady waits until the file that tells where everything is has been replaced,
// which a server does when all of it is there.
func (s *server) awaitReady(ctx context.Context, before os.FileInfo) error {
	return poll(ctx, func() (bool, error) {
		if s.proc.ended() {
			return false, errors.New("it ended")
		}
		now, err := os.Stat(s.devFile())
		return err == nil && (before == nil || !os.SameFile(before, now)), nil
	})
}

func (s *server) kill() {
	if s.proc != nil {
		s.proc.kill()
	}
}

// poll looks at something until it is so.
func poll(ctx context.Context, so func() (bool, error)) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// freeAddress returns an address on this machine that nobody listens at. It is not
// one that the system picks for connections: an agent that dials it while the server
// is away could be given its own port.
func freeAddress() (string, error) {
	for range 1000 {
		address := fmt.Sprint("127.0.0.1:", 10000+rand.IntN(20000))
		ln, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		return address, ln.Close()
	}
	return "", errors.New("there is no free port between 10000 and 30000")
}
