package systemd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// listen is a service manager.
func listen(t *testing.T) (socket string, next func() string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return socket, func() string {
		t.Helper()
		var text [100]byte
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(text[:])
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:n])
	}
}

func find(t *testing.T, socket, usec, pid string) *Notifier {
	t.Helper()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", usec)
	t.Setenv("WATCHDOG_PID", pid)
	return Find(slog.New(slog.DiscardHandler))
}

func TestManagerHearsOfTheServer(t *testing.T) {
	socket, next := listen(t)
	n := find(t, socket, "20000", strconv.Itoa(os.Getpid()))
	n.Ready()
	if got := next(); got != "READY=1" {
		t.Errorf("it heard %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked, dead := make(chan struct{}), make(chan struct{})
	watched := make(chan struct{})
	go func() { // ends with its context
		defer close(watched)
		n.Watch(ctx, func(context.Context) error {
			select {
			case <-dead:
				select {
				case asked <- struct{}{}:
				default:
				}
				return errors.New("no answer")
			default:
				return nil
			}
		})
	}()
	for range 3 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("it heard %q", got)
		}
	}
	close(dead)
	<-asked // of those after this one, none is told
	<-asked
	cancel()
	<-watched
	n.Stopping()
	got := next()
	for got == "WATCHDOG=1" { // told before it died
		got = next()
	}
	if got != "STOPPING=1" {
		t.Errorf("it heard %q", got)
	}
}

func TestNobodyListens(t *testing.T) {
	none := find(t, "", "20000", "")
	none.Ready()
	none.Stopping()
	none.Watch(t.Context(), func(context.Context) error { t.Error("it was asked"); return nil })
	if none != nil {
		t.Error("there is somebody")
	}
	for _, tt := range []struct{ usec, pid string }{{"", ""}, {"0", ""}, {"x", ""}, {"20000", "1"}} {
		n := find(t, filepath.Join(t.TempDir(), "gone"), tt.usec, tt.pid)
		n.Ready() // nobody hears it, and that is all
		n.Watch(t.Context(), func(context.Context) error { t.Error("it was asked"); return nil })
	}
}
