//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/beeos/beeos/test/program"
)

// Process is a child whose output is kept.
type Process struct{ *program.Process }

// start runs a program in this one's environment and env.
func start(name string, env []string, path string, args ...string) (*Process, error) {
	p, err := program.Start(name, append(os.Environ(), env...), path, args...)
	return &Process{p}, err
}

// Stop asks the process to end and waits.
func (p *Process) Stop() {
	_, _ = p.Terminate(15 * time.Second) // how it ends is told by its log
}

const look = 20 * time.Millisecond

// Await waits until the output says so.
func (p *Process) Await(ctx context.Context, said func(log string) bool) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !said(p.Text()) {
		select {
		case <-tick.C:
		case <-p.Ended():
			return fmt.Errorf("%s ended:\n%s", p.Name, p.Text())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready:\n%s", p.Name, p.Text())
		}
	}
	return nil
}

const readyWithin = 30 * time.Second

func (p *Process) awaitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	err := p.Await(ctx, func(string) bool {
		r, err := http.Get(url)
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%s does not answer", url), err)
	}
	return nil
}
