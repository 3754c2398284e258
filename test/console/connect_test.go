package console

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/browser"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

// shell is a machine with nothing but beeos and a folder.
type shell struct {
	t      *testing.T
	folder string
	env    []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{t: t, folder: t.TempDir()}
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "beeos"), "../../cmd/beeos").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + s.folder, "XDG_CONFIG_HOME=" + s.folder}
	return s
}

// run runs a line until the test ends.
func (s *shell) run(name, line string, env ...string) *program.Process {
	s.t.Helper()
	p, err := program.Start(name, append(env, s.env...), "bash", "-c", line)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if _, err := p.Terminate(time.Minute); err != nil {
			s.t.Error(err)
		}
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s", name, p.Text())
		}
	})
	return p
}

// serve runs a server, and returns where its console is and its first-run link.
func (s *shell) serve() (web, link string) {
	s.t.Helper()
	data := filepath.Join(s.folder, "data")
	env := []string{"BEEOS_DATA=" + data, "LOG_FORMAT=json"}
	for _, name := range []string{"WEB", "MCP", "A2A", "OPENAPI", "AGENT_GATEWAY"} {
		addr := ports.Addr(s.t)
		env = append(env, name+"_ADDR="+addr)
		if name == "WEB" {
			web = "http://" + strings.Replace(addr, "127.0.0.1", "localhost", 1)
		}
	}
	p := s.run("the server", "beeos serve", env...)
	ctx, cancel := context.WithTimeout(s.t.Context(), browser.StepsWithin)
	defer cancel()
	if _, err := p.Err.Await(ctx, func(line string) bool { return strings.Contains(line, `"ready"`) }); err != nil {
		s.t.Fatalf("%v\n%s", err, p.Text())
	}
	text, err := os.ReadFile(filepath.Join(data, "setup-link"))
	if err != nil {
		s.t.Fatal(err)
	}
	return web, strings.TrimSpace(string(text))
}

// TestConnect: a newcomer goes through the wizard, runs the very command that the
// page shows, sees the agent come without a reload, and talks with it.
func TestConnect(t *testing.T) {
	s := newShell(t)
	web, link := s.serve()
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(link)
	b.Do(browser.Leads(chromedp.Click(`#steps a[href="/connect"]`)), chromedp.WaitVisible(`[data-way]`))
	if ways := eval[string](b, `[...document.querySelectorAll("[data-way]")].map(e => e.dataset.way).join()`); ways != "go,exec,acp,http,openai,mcp,a2a,protocol,builtin" {
		t.Errorf("the ways are %s", ways)
	}
	b.inspectHere("ways to connect")
	b.Look(1280, "light")
	b.picture("connect-ways")
	for _, way := range []string{"go", "acp", "http", "openai", "mcp", "a2a", "protocol"} {
		b.inspect(web + "/connect/" + way)
	}

	b.Look(1280, "light")
	b.Do(chromedp.Navigate(web+"/connect"), browser.Leads(chromedp.Click(`[data-way="exec"] a`)), chromedp.WaitVisible(`[name="name"]`))
	agent := filepath.Join(s.folder, "agent.py")
	if err := os.WriteFile(agent, []byte(eval[string](b, `document.querySelector(".wizard form [data-copy]").dataset.copy`)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.SendKeys(`[name="name"]`, "parrot"), chromedp.SendKeys(`[name="o.exec"]`, "python3 "+agent))
	b.inspectHere("the form of the wizard")
	b.Look(1280, "light")
	b.Do(browser.Leads(chromedp.Click(`.wizard form button[type="submit"]`)), chromedp.WaitVisible(`#run [data-copy]`))
	b.inspectHere("the command of the wizard")
	b.Look(1280, "light")
	b.picture("connect")
	eval[bool](b, "window.same = true")
	s.run("the agent", eval[string](b, `document.querySelector("#run [data-copy]").dataset.copy`))
	b.Await("that it is there, without a reload", `document.querySelector("#wait").innerText.includes("parrot is connected") && window.same`)
	b.inspectHere("an agent that has come")
	b.Look(1280, "light")
	b.Do(browser.Leads(chromedp.Click(`#try a[href$="/chat"]`)))
	b.typeIn("hello")
	b.Await("its answer", lastProse+` === "you said: hello"`)

	b.Do(
		chromedp.Navigate(web+"/connect/go"), chromedp.SendKeys(`[name="name"]`, "weather"),
		browser.Leads(chromedp.Click(`.wizard form button[type="submit"]`)), chromedp.WaitVisible(`#run [data-copy]`),
	)
	b.inspectHere("an agent in Go")
	b.Look(1280, "light")
	b.Do(
		chromedp.Navigate(web+"/connect/protocol"), chromedp.SendKeys(`[name="name"]`, "by hand"),
		browser.Leads(chromedp.Click(`.wizard form button[type="submit"]`)), chromedp.WaitVisible(`#run [data-copy]`),
	)
	b.inspectHere("an agent in the shell")
	s.run("the script", "cd "+s.folder+"\n"+eval[string](b, `document.querySelector("#run [data-copy]").dataset.copy`))
	b.Await("that it is there", `document.querySelector("#wait").innerText.includes("by hand is connected")`)
	b.Look(1280, "light")
	b.Do(browser.Leads(chromedp.Click(`#try a[href$="/chat"]`)))
	b.typeIn("hello")
	b.Await("its answer", lastProse+` === "you said: hello"`)
	b.NoComplaints()
}
