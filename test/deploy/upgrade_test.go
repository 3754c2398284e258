//go:build release && linux

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

const olderVersion = "9.8.6"

// olderCommit is the one that test/upgrade goes on from.
func olderCommit(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^const before = "([0-9a-f]+)"`).FindStringSubmatch(read(t, "test/upgrade/rolling_test.go"))
	if m == nil {
		t.Fatal("test/upgrade/rolling_test.go does not name the version before")
	}
	return m[1]
}

// machine is this machine, but for what is written there: that goes into a memory of
// its own, and is gone with the test.
type machine struct {
	t     *testing.T
	root  string
	enter []string // words before a command
}

// newMachine has a folder of this one at /mnt; apart is what else is its own, in the
// words of unshare.
func newMachine(t *testing.T, folder string, apart ...string) *machine {
	t.Helper()
	m := &machine{t: t, root: filepath.Join(t.TempDir(), "root")}
	memory := t.TempDir()
	if err := os.Mkdir(m.root, 0o755); err != nil {
		t.Fatal(err)
	}
	const mounts = `mount -t tmpfs memory "$1" && mkdir "$1/written" "$1/work" && mount -t overlay overlay -o "lowerdir=/,upperdir=$1/written,workdir=$1/work" "$2" &&
		mount --rbind /proc "$2/proc" && mount --rbind /dev "$2/dev" && mount --bind "$3" "$2/mnt" && echo mounted && exec cat`
	holder, err := program.Start("machine", os.Environ(), "unshare", append(apart, "--mount", "sh", "-c", mounts, "sh", memory, m.root, folder)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(holder.Kill)
	if _, err := holder.Out.Await(t.Context(), func(line string) bool { return line == "mounted" }); err != nil {
		t.Fatalf("%v\n%s", err, holder.Text())
	}
	m.enter = append([]string{"--target", strconv.Itoa(holder.Pid()), "--mount"}, append(apart, "--", "chroot", m.root, "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")...)
	return m
}

// run runs a script as root, which must succeed.
func (m *machine) run(script string) string {
	m.t.Helper()
	out, err := exec.CommandContext(m.t.Context(), "nsenter", append(m.enter, "sh", "-euc", script)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// asService are the words that run the program as the unit does.
const asService = `set -a; . /etc/beeos/beeos.env; BEEOS_DATA=/var/lib/beeos; exec setpriv --reuid=beeos --regid=beeos --init-groups /usr/bin/beeos `

// serve starts the service.
func (m *machine) serve() *program.Process {
	m.t.Helper()
	p, err := program.Start("server", os.Environ(), "nsenter", append(m.enter, "sh", "-euc", asService+"serve")...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(p.Kill)
	if _, err := p.Err.Await(m.t.Context(), func(line string) bool { return strings.Contains(line, `"msg":"ready"`) }); err != nil {
		m.t.Fatalf("%v\n%s", err, p.Text())
	}
	return p
}

func stop(t *testing.T, p *program.Process) {
	t.Helper()
	if code, err := p.Terminate(patience); err != nil || code != 0 {
		t.Errorf("the server ended with code %d: %v\n%s", code, err, p.Text())
	}
}

// checkSettings: the operator who has named the domain in the file of the package, as
// docs/how-to/deploy-vm.md says, gets a link to it, with nothing in the environment.
func (m *machine) checkSettings() {
	m.t.Helper()
	m.run("sed -i 's/^#domain: /domain: /' /etc/beeos/beeos.yaml")
	said := m.run("exec setpriv --reuid=beeos --regid=beeos --init-groups beeos users invite you@example.com --admin")
	if !strings.Contains(said, "https://bee.example.com/welcome?token=") {
		m.t.Errorf("the invitation is\n%s", said)
	}
	m.run("exec setpriv --reuid=beeos --regid=beeos --init-groups beeos keys create --owner you@example.com")
}

// tryUpgrade installs the deb of the version before, works with it, installs this
// one over it, and finds everything; and removing it leaves the data.
func tryUpgrade(t *testing.T, older, deb string) {
	needRoot(t)
	folder := t.TempDir()
	run(t, ".", nil, "cp", older, filepath.Join(folder, "older.deb"))
	run(t, ".", nil, "cp", deb, filepath.Join(folder, "newer.deb"))
	m := newMachine(t, folder)
	m.run("dpkg --install /mnt/older.deb && id beeos && install --directory --owner=beeos --group=beeos --mode=0700 /var/lib/beeos")
	rest, gateway := ports.Addr(t), ports.Addr(t)
	m.run("printf '%s\\n' MCP_ADDR=127.0.0.1:0 A2A_ADDR=127.0.0.1:0 WEB_ADDR=127.0.0.1:0 BEEOS_ADMIN_ADDR=off OPENAPI_ADDR=" + rest + " AGENT_GATEWAY_ADDR=" + gateway + " >> /etc/beeos/beeos.env")

	server := m.serve()
	key := regexp.MustCompile(`oag_\w+`).FindString(m.run(asService + "keys create --owner ada@example.com"))
	w := startWorker(t, "http://"+gateway, key)
	if err := w.call(t, "http://"+rest, key, "before"); err != nil {
		t.Fatal(err)
	}
	file := m.run("echo 'some bytes' > /tmp/note && beeos files upload /tmp/note --url http://" + rest + " --key " + key)
	id := regexp.MustCompile(`file_[\w-]{10,}`).FindString(file)
	stop(t, server)

	began := time.Now()
	t.Log(m.run("dpkg --force-confdef --force-confold --install /mnt/newer.deb")) // as who presses return
	if said := m.run("beeos version; cat /etc/beeos/beeos.env"); !strings.Contains(said, version) || !strings.Contains(said, "OPENAPI_ADDR="+rest) {
		t.Errorf("after the upgrade:\n%s", said)
	}
	m.run("systemd-analyze verify --man=no --recursive-errors=no beeos.service")
	server = m.serve()
	t.Logf("installed and ready %s later", time.Since(began).Round(100*time.Millisecond))
	for _, text := range []string{"before", "after"} {
		if err := repeat(t, func(text string) error { return w.call(t, "http://"+rest, key, text) }, text); err != nil {
			t.Error(err)
		}
	}
	w.checkOnce(t) // the first one was answered from what the older version had stored
	if said := m.run("beeos files get " + id + " --output /tmp/again --url http://" + rest + " --key " + key + " && cmp /tmp/note /tmp/again && echo same"); !strings.HasSuffix(said, "same") {
		t.Error(said)
	}
	m.run(asService + "verify")
	stop(t, server)
	m.checkSettings()

	m.run("dpkg --remove beeos; test ! -e /usr/bin/beeos; test -s /var/lib/beeos/beeos.db")
	m.run("dpkg --purge beeos; test ! -e /etc/beeos/beeos.env; test -s /var/lib/beeos/beeos.db")
}
