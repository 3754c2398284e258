package catalog

import (
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// What an agent can do, to those who shake hands and to those who ask.
const serverCapabilities = `"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}`

// skillsDeclared declares the skills extension for an agent that has any.
func (l *Lists) skillsDeclared() string {
	if len(l.Skills.ByFile) == 0 {
		return ""
	}
	return `,"` + skillsExtension + `":{"directoryRead":true}`
}

// uiDeclared declares MCP Apps for an agent, or a union, that has a page to
// show.
func (l *Lists) uiDeclared() string {
	for uri := range l.Contents {
		if strings.HasPrefix(uri, uiScheme) {
			return `,"` + wire.UIExtension + `":{}`
		}
	}
	for _, e := range l.memberBySlug {
		if declared := e.Lists.uiDeclared(); declared != "" {
			return declared
		}
	}
	for _, t := range l.ToolByName {
		meta := strictjson.Field(t.definition, "_meta")
		if strictjson.Field(meta, "ui") != nil || strictjson.Field(meta, "ui/resourceUri") != nil {
			return `,"` + wire.UIExtension + `":{}`
		}
	}
	return ""
}

// describeServer is what initialize and server/discover say about the agent.
func (l *Lists) describeServer(a *beeos.Agent) {
	d := &a.Definition
	info := wire.AppendText([]byte(`{"name":`), a.Name)
	info = wire.AppendMember(info, "title", d.DisplayName)
	l.ServerInfo = append(wire.AppendMember(info, "version", d.PublicVersion()), '}')
	instructions := wire.AppendMember(nil, "instructions", d.Description)
	extensions, ui := "", l.uiDeclared()
	if ui != "" {
		extensions = `,"extensions":{` + ui[1:] + `}`
	}
	l.InitializeMembers = fmt.Appendf(nil, `"capabilities":{%s%s},"serverInfo":%s%s`, serverCapabilities, extensions, l.ServerInfo, instructions)
	l.Discovery = fmt.Appendf(nil, `{"supportedVersions":%s,"capabilities":{%s,"extensions":{"%s":{}%s%s}}%s}`,
		wire.SupportedVersions, serverCapabilities, wire.TasksExtension, l.skillsDeclared(), ui, instructions)
}
