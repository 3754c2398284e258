package wire

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
)

// oldCard is a card for clients that know no list of interfaces.
func oldCard(c *a2a.AgentCard) object {
	card := object{
		"name": c.Name, "description": c.Description, "version": c.Version,
		"capabilities":      object{"streaming": true, "pushNotifications": true, "stateTransitionHistory": false},
		"defaultInputModes": c.DefaultInputModes, "defaultOutputModes": c.DefaultOutputModes,
		"skills": each(c.Skills, func(s a2a.AgentSkill) object {
			return object{"id": s.ID, "name": s.Name, "description": s.Description, "tags": s.Tags}
		}),
		"securitySchemes": oldSchemes(c),
	}
	for name, value := range oldMembers(c) {
		card[name] = value
	}
	return card
}

// oldMembers are what only 0.3 has in a card: where the agent is, and which
// credentials it wants.
func oldMembers(c *a2a.AgentCard) object {
	var interfaces []object
	for _, i := range c.SupportedInterfaces {
		if i.ProtocolVersion == "0.3" {
			interfaces = append(interfaces, object{"url": i.URL, "transport": i.ProtocolBinding})
		}
	}
	return object{
		"protocolVersion": "0.3.0", "url": interfaces[0]["url"], "preferredTransport": interfaces[0]["transport"], "additionalInterfaces": interfaces,
		"security": []object{{"bearer": []string{}}, {"apiKey": []string{}}}, "supportsAuthenticatedExtendedCard": true,
	}
}

// oldSchemes tells schemes apart by a type. They say what those of 1.0 say, word
// for word: a client of 1.0 may prefer them, and must arrive at the card that
// was signed.
func oldSchemes(c *a2a.AgentCard) object {
	all := object{}
	for name, scheme := range c.SecuritySchemes {
		switch s := scheme.(type) {
		case a2a.HTTPAuthSecurityScheme:
			all[string(name)] = object{"type": "http", "scheme": s.Scheme, "description": s.Description}
		case a2a.APIKeySecurityScheme:
			all[string(name)] = object{"type": "apiKey", "in": s.Location, "name": s.Name, "description": s.Description}
		}
	}
	return all
}

// CardForBoth is a card that clients of 1.0 and of 0.3 can read: 1.0's, with
// what only 0.3 has beside it. Most clients fetch a card before they have said
// which version they speak.
func CardForBoth(c *a2a.AgentCard) (map[string]any, error) {
	raw, err := beeos.EncodeJSON(c)
	if err != nil {
		return nil, fmt.Errorf("encode the card: %w", err)
	}
	var card map[string]any
	if err := json.Unmarshal(raw, &card); err != nil {
		return nil, fmt.Errorf("read the card: %w", err)
	}
	for name, value := range oldMembers(c) {
		card[name] = value
	}
	schemes, _ := card["securitySchemes"].(map[string]any)
	for name, old := range oldSchemes(c) {
		if scheme, ok := schemes[name].(map[string]any); ok {
			for member, value := range old.(object) {
				scheme[member] = value
			}
		}
	}
	return card, nil
}
