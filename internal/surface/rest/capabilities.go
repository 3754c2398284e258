package rest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
)

// The contract has a list of booleans for every agent. Some of them are up to
// this server, whatever an agent declares: it keeps conversations, streams and
// pushes for all of them, and gives nobody a terminal. The others are the agent's
// word.
var (
	servedCapabilities = strings.Fields(`multipleConversations loadConversation createConversation streaming pushNotifications
		a2a extendedAgentCard skillsList`)
	absentCapabilities   = strings.Fields(`canvas terminal webSsh fileSystem cron skillsInstall skillsUninstall skillsUpdate`)
	declaredCapabilities = strings.Fields(`image audio modelsList modelsSet`)
)

// viewCapabilities returns what an agent declared, with the contract's booleans
// as they are; mcp is the owner's setting.
func viewCapabilities(a *beeos.Agent) map[string]json.RawMessage {
	var declared map[string]json.RawMessage
	if json.Unmarshal(a.Definition.Capabilities, &declared) != nil || declared == nil {
		declared = map[string]json.RawMessage{}
	}
	for _, name := range declaredCapabilities {
		declared[name] = encodeBool(string(declared[name]) == "true" || takesMedia(declared["inputModes"], name))
	}
	for _, name := range servedCapabilities {
		declared[name] = encodeBool(true)
	}
	for _, name := range absentCapabilities {
		declared[name] = encodeBool(false)
	}
	declared["mcp"] = encodeBool(a.MCPEnabled)
	return declared
}

// takesMedia reports whether media types of a kind are among those that an agent
// says it takes.
func takesMedia(inputModes json.RawMessage, kind string) bool {
	var types []string
	_ = json.Unmarshal(inputModes, &types) // what is no list of types names none
	return slices.ContainsFunc(types, func(t string) bool { return strings.HasPrefix(t, kind+"/") })
}

func encodeBool(b bool) json.RawMessage { return strconv.AppendBool(nil, b) }
