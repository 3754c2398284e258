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
	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
	"github.com/beeos/beeos/test/python"
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

// connectPrograms runs the programs that the wizard shows for each language with a
// package of ours, started with what it says.
func (b *tab) connectPrograms(s *shell, web string) {
	b.T.Helper()
	for way, start := range map[string]func(lines string) string{"go": nil, "python": s.startPython, "typescript": s.startTypeScript} {
		name := "in-" + way
		b.Look(1280, "light")
		b.Do(
			chromedp.Navigate(web+"/connect/"+way), chromedp.SendKeys(`[name="name"]`, name),
			browser.Leads(chromedp.Click(`.wizard form button[type="submit"]`)), chromedp.WaitVisible(`#run [data-copy]`),
		)
		b.inspectHere("an agent in " + way)
		if start == nil { // TestNew builds what `beeos agent new` writes
			continue
		}
		steps := eval[[]string](b, `[...document.querySelectorAll("#run [data-copy]")].map(e => e.dataset.copy)`)
		if len(steps) != 4 || steps[0] != "beeos agent new "+name+" --lang "+way {
			b.T.Fatalf("%s is connected by %q", way, steps)
		}
		line, ok := strings.CutSuffix(steps[2], "beeos agent run ./"+name)
		if !ok {
			b.T.Fatalf("it is run by %s", steps[2])
		}
		s.run("the agent in "+way, line+start(steps[3]))
		b.Await("that it is there", `document.querySelector("#wait").innerText.includes("`+name+` is connected")`)
		b.Look(1280, "light")
		b.Do(browser.Leads(chromedp.Click(`#try a[href$="/chat"]`)))
		b.typeIn("hello")
		b.Await("its answer", lastProse+` === "you said: hello"`)
	}
	b.Look(1280, "light")
}

// write puts a program into the folder.
func (s *shell) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// source is a folder of the repository.
func (s *shell) source(path string) string {
	s.t.Helper()
	full, err := filepath.Abs(filepath.Join("..", "..", path))
	if err != nil {
		s.t.Fatal(err)
	}
	return full
}

func (s *shell) startPython(lines string) string {
	s.t.Helper()
	requirements, err := os.ReadFile(s.source("test/pythonsdk/wheel.txt"))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := npmContext()
	defer cancel()
	interpreter, err := python.Install(ctx, requirements)
	if err != nil {
		s.t.Fatal(err)
	}
	return "env PYTHONPATH=" + s.source("sdk/python/src") + " PYTHONDONTWRITEBYTECODE=1 " + interpreter + " " + s.write("lines.py", lines)
}

func (s *shell) startTypeScript(lines string) string {
	s.t.Helper()
	ctx, cancel := npmContext()
	defer cancel()
	tools, err := npm.Install(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return tools.Module(".bin/node") + " " + s.write("lines.mts", strings.Replace(lines, "@beeos/sdk", s.source("sdk/typescript/src/index.ts"), 1))
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
	if ways := eval[string](b, `[...document.querySelectorAll("[data-way]")].map(e => e.dataset.way).join()`); ways != "go,python,typescript,exec,acp,http,openai,mcp,a2a,protocol,builtin" {
		t.Errorf("the ways are %s", ways)
	}
	b.inspectHere("ways to connect")
	b.Look(1280, "light")
	b.picture("connect-ways")
	for _, way := range []string{"go", "python", "typescript", "acp", "http", "openai", "mcp", "a2a", "protocol"} {
		b.inspect(web + "/connect/" + way)
	}

	b.Look(1280, "light")
	b.Do(chromedp.Navigate(web+"/connect"), browser.Leads(chromedp.Click(`[data-way="exec"] a`)), chromedp.WaitVisible(`[name="name"]`))
	agent := s.write("agent.py", eval[string](b, `document.querySelector(".wizard form [data-copy]").dataset.copy`))
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

	b.connectPrograms(s, web)
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
