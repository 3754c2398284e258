package cli_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beeos/beeos/internal/cli"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"beeos": func() { os.Exit(cli.Main()) }})
}

// TestScript runs the command line as people do: testdata/script/*.txtar.
func TestScript(t *testing.T) {
	testscript.Run(t, params(t, "testdata/script"))
}

// TestPostgres runs what needs a PostgreSQL. Each script finds three empty databases
// of its own, in $POSTGRES, $POSTGRES2 and $POSTGRES3.
func TestPostgres(t *testing.T) {
	p := params(t, "testdata/postgres")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		for _, name := range []string{"POSTGRES", "POSTGRES2", "POSTGRES3"} {
			env.Setenv(name, pgtest.URL(t))
		}
		return setup(env)
	}
	testscript.Run(t, p)
}

func params(t *testing.T, dir string) testscript.Params {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			env.Setenv("NO_COLOR", "1")
			for _, name := range []string{"MCP_ADDR", "A2A_ADDR", "OPENAPI_ADDR", "AGENT_GATEWAY_ADDR", "WEB_ADDR"} {
				env.Setenv(name, "127.0.0.1:0")
			}
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS"} {
				out, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, strings.TrimSpace(string(out)))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "until": until, "keep": keep, "freeport": freePort, "answers": answers, "receiver": receiver,
		},
	}
}

// exits CODE COMMAND... runs a command that must end with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// until COMMAND... runs a command again and again until it succeeds: what it
// waits for happens in another process, which has no way to tell.
func until(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(2 * time.Minute) // some of it is compiled first
	for {
		err := ts.Exec(args[0], args[1:]...)
		if (err == nil) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: still %v", strings.Join(args, " "), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// keep NAME puts what the last command printed into a variable.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// freeport NAME reserves a port for the script and puts its number into a
// variable.
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	port, free, err := ports.Reserve()
	ts.Check(err)
	ts.Defer(free)
	ts.Setenv(args[0], strconv.Itoa(port))
}

// answers URL waits until there is an answer of status 200.
func answers(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		resp, err := http.Get(args[0])
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not answer: %v", args[0], err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// receiver NAME starts somebody who takes webhooks, and puts its URL into a
// variable.
func receiver(ts *testscript.TestScript, _ bool, args []string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}
