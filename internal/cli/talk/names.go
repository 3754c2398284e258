package talk

import (
	"context"

	"github.com/beeos/beeos/client"
)

// agentNames are the names of the user's agents by their ids.
type agentNames map[string]string

// nameAgents reads the names of the user's agents, for lists of what has only
// their ids.
func nameAgents(ctx context.Context, cl *client.Client) (agentNames, error) {
	agents, err := cl.Agents(ctx)
	if err != nil {
		return nil, err
	}
	names := agentNames{}
	for i := range agents {
		names[agents[i].ID] = agents[i].Name
	}
	return names, nil
}

// of is the name of an agent; that of somebody else is not known, so its id is
// shown.
func (n agentNames) of(id string) string {
	if name := n[id]; name != "" {
		return name
	}
	return id
}
