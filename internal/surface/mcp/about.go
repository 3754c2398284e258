package mcp

import (
	"cmp"

	"github.com/beeos/beeos"
)

// What an agent can do, to those who shake hands and to those who ask.
const (
	serverCapabilities = `"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}`
)

// skillsDeclared declares the skills extension for an agent that has any.
func (l *lists) skillsDeclared() string {
	if len(l.skills.byFile) == 0 {
		return ""
	}
	return `,"` + skillsExtension + `":{"directoryRead":true}`
}

// describeServer is what initialize and server/discover say about the agent.
func (l *lists) describeServer(a *beeos.Agent) {
	d := &a.Definition
	info := appendText([]byte(`{"name":`), a.Name)
	info = appendMember(info, "title", d.DisplayName)
	l.serverInfo = append(appendMember(info, "version", cmp.Or(d.Version, beeos.Version)), '}')
	instructions := appendMember(nil, "instructions", d.Description)

	b := append([]byte(`"capabilities":{`+serverCapabilities+`},"serverInfo":`), l.serverInfo...)
	l.initializeMembers = append(b, instructions...)
	b = []byte(`{"supportedVersions":` + supportedVersions + `,"capabilities":{` + serverCapabilities + `,"extensions":{"` + tasksExtension + `":{}` + l.skillsDeclared() + `}}`)
	l.discovery = append(append(b, instructions...), '}')
}
