package terminal

import (
	"os"
	"strings"
	"testing"
)

func start(t *testing.T, all *Terminals, limit int, script string) string {
	t.Helper()
	id, err := all.Start(Command{Words: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: os.Environ(), Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestOutputIsBounded: the newest of it is kept, from the beginning of a character.
func TestOutputIsBounded(t *testing.T) {
	all := New()
	defer all.Close()
	id := start(t, all, 10, "printf '0123456789äöüäöü'; exit 4")
	if exit, err := all.Wait(t.Context(), id); err != nil || *exit.Code != 4 {
		t.Errorf("%+v, %v", exit, err)
	}
	if o, err := all.Output(id); err != nil || o.Text != "üäöü"[len("ü")-2:] && o.Text != "öüäöü" || !o.Truncated || *o.Exit.Code != 4 {
		t.Errorf("%+v, %v", o, err)
	}
	if err := all.Release(id); err != nil {
		t.Error(err)
	}
	if _, err := all.Output(id); err == nil {
		t.Error("it is there after its release")
	}
}

// TestKillTakesChildrenAlong: what a command has started ends with it.
func TestKillTakesChildrenAlong(t *testing.T) {
	all := New()
	id := start(t, all, 0, "sleep 1000 & sleep 1000")
	if o, err := all.Output(id); err != nil || o.Exit != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if err := all.Kill(id); err != nil {
		t.Fatal(err)
	}
	if exit, err := all.Wait(t.Context(), id); err != nil || exit.Signal == nil || !strings.Contains(*exit.Signal, "killed") {
		t.Errorf("%+v, %v", exit, err)
	}
	start(t, all, 0, "sleep 1000")
	all.Close()
	if _, err := all.Start(Command{Words: []string{"true"}}); err == nil {
		t.Error("one was started after the end")
	}
}

func TestTerminalsAreBounded(t *testing.T) {
	all := New()
	defer all.Close()
	for range maxOpen {
		start(t, all, 0, "sleep 1000")
	}
	if _, err := all.Start(Command{Words: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "release one") {
		t.Error(err)
	}
}
