package catalog

import (
	"cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// What an agent can do, to those who shake hands and to those who ask.
const (
	serverCapabilities = `"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}`
)

// skillsDeclared declares the skills extension for an agent that has any.
func (l *Lists) skillsDeclared() string {
	if len(l.Skills.ByFile) == 0 {
		return ""
	}
	return `,"` + skillsExtension + `":{"directoryRead":true}`
}

// describeServer is what initialize and server/discover say about the agent.
func (l *Lists) describeServer(a *beeos.Agent) {
	d := &a.Definition
	info := wire.AppendText([]byte(`{"name":`), a.Name)
	info = wire.AppendMember(info, "title", d.DisplayName)
	l.ServerInfo = append(wire.AppendMember(info, "version", cmp.Or(d.Version, beeos.Version)), '}')
	instructions := wire.AppendMember(nil, "instructions", d.Description)

	b := append([]byte(`"capabilities":{`+serverCapabilities+`},"serverInfo":`), l.ServerInfo...)
	l.InitializeMembers = append(b, instructions...)
	b = []byte(`{"supportedVersions":` + wire.SupportedVersions + `,"capabilities":{` + serverCapabilities + `,"extensions":{"` + wire.TasksExtension + `":{}` + l.skillsDeclared() + `}}`)
	l.Discovery = append(append(b, instructions...), '}')
}
