package remote

import (
	"cmp"
	"os"
	"path/filepath"
)

// AgentEnv is how commands that start an agent find its gateway. The names
// are those that agents themselves read.
type AgentEnv struct {
	Gateway string `env:"AGENT_GATEWAY_URL" placeholder:"URL" help:"Agent gateway of the server. Empty: the one that beeos dev runs here."`
	Key     string `env:"BEEOS_KEY" placeholder:"KEY" help:"User key (oag_) to join with. Empty: the one that beeos dev made."`
	Data    string `env:"BEEOS_DATA" default:"./beeos-data" help:"Data folder of beeos dev, to find its server."`
}

// CompleteFromDev takes what is missing from dev.json. Its key goes to its own
// gateway and to no other.
func (e *AgentEnv) CompleteFromDev() {
	d, err := FindDev(e.Data)
	if err != nil {
		return // the agent itself will say what it misses
	}
	e.Gateway = cmp.Or(e.Gateway, d.Agents)
	if e.Key == "" && e.Gateway == d.Agents && os.Getenv("BEEOS_JOIN_TOKEN") == "" {
		e.Key = d.UserKey
	}
}

// Environ is the environment of an agent.
func (e *AgentEnv) Environ() []string {
	env := os.Environ()
	for name, value := range map[string]string{"AGENT_GATEWAY_URL": e.Gateway, "BEEOS_KEY": e.Key} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	if abs, err := filepath.Abs(e.Data); err == nil {
		env = append(env, "BEEOS_DATA="+abs)
	}
	return env
}
