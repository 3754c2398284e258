//go:build unix

// Package pgtest gives tests a real PostgreSQL. The first URL of a test
// binary starts a throw-away cluster from Debian's binaries (cluster.go); each
// call makes a fresh database on it. Nothing stays behind when the binary
// ends, however it ends. With BEEOS_TEST_POSTGRES, the URL of a superuser,
// the databases are made on that server instead. line.go is a way to a database
// that breaks, or goes silent, at will; standby.go has servers that follow another
// one, and servers that are frozen.
package pgtest

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// adminVar names the environment variable with a superuser's URL.
const adminVar = "BEEOS_TEST_POSTGRES"

var shared struct {
	sync.Mutex
	server *Server
}

var databases atomic.Int64

// URL returns the address of a fresh, empty database.
func URL(t testing.TB) string {
	t.Helper()
	if admin := os.Getenv(adminVar); admin != "" {
		return foreign(t, admin)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		server, err := start(settings{})
		if err != nil {
			t.Fatalf("start PostgreSQL: %v", err)
		}
		shared.server = server // ends with the test binary
	}
	return shared.server.URL(t)
}

// foreign makes a database on a server that others run, and drops it later.
func foreign(t testing.TB, admin string) string {
	t.Helper()
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatalf("%s is not a URL; write postgres://user:password@host:5432/postgres", adminVar)
	}
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	name := freshName()
	psql(t, bin, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { psql(t, bin, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

func psql(t testing.TB, bin, target, statement string) {
	t.Helper()
	if err := query(bin, target, statement); err != nil {
		t.Fatal(err)
	}
}

func query(bin, target, statement string) error {
	cmd := exec.Command(filepath.Join(bin, "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", target, "-c", statement)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("psql %s: %w\n%s", statement, err, out)
	}
	return nil
}

// Program is the path of one of PostgreSQL's programs, of the version that servers
// here run.
func Program(name string) (string, error) {
	bin, err := binaries()
	return filepath.Join(bin, name), err
}

// freshName is unlike any name of this process or of one beside it.
func freshName() string {
	return fmt.Sprintf("beeos_test_%d_%d", os.Getpid(), databases.Add(1))
}

// binaries returns the folder with the newest PostgreSQL.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", fmt.Errorf("PostgreSQL is not installed; run: apt-get install -y postgresql (or set %s to a superuser's URL)", adminVar)
}
