// Package systemd tells the service manager how a server does, as sd_notify(3)
// has it: that it is ready, that it stops, and, again and again, that it lives.
// Where nobody listens all of it does nothing.
package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// Notifier is the way to the service manager; nil = there is none.
type Notifier struct {
	socket string
	every  time.Duration // how often it wants to hear of us; 0 = it does not watch
	log    *slog.Logger
}

// Find returns the way that the environment names.
func Find(log *slog.Logger) *Notifier {
	n := &Notifier{socket: os.Getenv("NOTIFY_SOCKET"), log: log}
	if n.socket == "" {
		return nil
	}
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	pid := os.Getenv("WATCHDOG_PID")
	if err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) { // else it watches somebody else
		n.every = time.Duration(usec) * time.Microsecond
	}
	return n
}

// Ready says that everything answers.
func (n *Notifier) Ready() { n.tell("READY=1") }

// Stopping says that no more work is taken, and what there is gets done.
func (n *Notifier) Stopping() { n.tell("STOPPING=1") }

// Watch says, until ctx ends, that the server lives, for as long as alive agrees:
// twice in the time after which it would be killed and started again.
func (n *Notifier) Watch(ctx context.Context, alive func(context.Context) error) {
	if n == nil || n.every == 0 {
		return
	}
	tick := time.NewTicker(n.every / 2)
	defer tick.Stop()
	for {
		if err := n.ask(ctx, alive); err == nil {
			n.tell("WATCHDOG=1")
		} else if ctx.Err() == nil {
			n.log.Error("the server does not answer itself; the service manager will start it again if that lasts", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (n *Notifier) ask(ctx context.Context, alive func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, n.every/4)
	defer cancel()
	return alive(ctx)
}

// tell sends one message. That it gets lost is no reason to stop.
func (n *Notifier) tell(state string) {
	if n == nil {
		return
	}
	if err := send(n.socket, state); err != nil {
		n.log.Warn("the service manager does not hear us", "said", state, "err", err)
	}
}

func send(socket, state string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("reach the service manager: %w", err)
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}
