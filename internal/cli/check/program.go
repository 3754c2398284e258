package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// agentName is what the agent under test calls itself.
const agentName = "check"

// program is the agent under test.
type program struct {
	command []string
	exec    bool // behind beeos connect --exec
	env     []string
	out     *tail
	running []*process // its instances
}

// newProgram finds the program, which gets a configuration folder of its own: its
// key pair is for this server.
func newProgram(command []string, behindExec bool, dir, gateway, key string) (*program, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("the program cannot be run; check its path and that it is executable: %w", err)
	}
	p := &program{exec: behindExec, out: &tail{}}
	p.env = append(withoutVariable(os.Environ(), "BEEOS_JOIN_TOKEN"),
		"AGENT_GATEWAY_URL=http://"+gateway, "BEEOS_KEY="+key, "BEEOS_DATA="+filepath.Join(dir, "nothing"),
		"XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	p.command = append([]string{path}, command...)
	if behindExec {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
		p.command = append([]string{self, os.Args[0], "connect", "--name", agentName, "--exec", command[0], "--"}, command[1:]...)
	}
	return p, nil
}

// withoutVariable leaves a variable out of an environment.
func withoutVariable(env []string, name string) []string {
	return slices.DeleteFunc(env, func(variable string) bool { return strings.HasPrefix(variable, name+"=") })
}

// start runs one instance more.
func (p *program) start() (*process, error) {
	proc, err := startProcess(p.env, p.out, p.command[0], p.command[1:]...)
	if err != nil {
		return nil, err
	}
	p.running = append(p.running, proc)
	return proc, nil
}

// kill ends all instances, as a power cut would.
func (p *program) kill() {
	for _, proc := range p.running {
		proc.kill()
	}
	p.running = nil
}

// keepOnly kills the instances other than this one.
func (p *program) keepOnly(keep *process) {
	for _, proc := range p.running {
		if proc != keep {
			proc.kill()
		}
	}
	p.running = []*process{keep}
}

// isWhole reports whether there is exactly one instance, and it runs.
func (p *program) isWhole() bool { return len(p.running) == 1 && !p.running[0].ended() }

// checkRuns fails if an instance has ended by itself.
func (p *program) checkRuns() error {
	for _, proc := range p.running {
		if proc.ended() {
			return errors.New("the program ended (" + proc.cmd.ProcessState.String() + "): " + lastLine(p.out.String()))
		}
	}
	return nil
}

func (p *program) lastWords() string { return p.out.String() }

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
