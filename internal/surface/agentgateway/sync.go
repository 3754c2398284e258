package agentgateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

const syncLimit = 1 << 20

// sync makes the instance's agents exactly those of the body: what is new is
// created, what has changed updated, what is missing deactivated.
func (s *Surface) sync(w http.ResponseWriter, r *http.Request, inst beeos.Instance, body []byte) error {
	var req struct {
		Agents []beeos.Definition `json:"agents"`
	}
	if strictjson.Field(body, "agents") == nil {
		return beeos.Errorf(beeos.MissingParam, "the body needs agents: a list of definitions, empty to deactivate all")
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return beeos.Wrap(beeos.InvalidBody, err, shapeOf(err))
	}
	done, err := s.Agents.Sync(r.Context(), inst, req.Agents)
	if err != nil {
		return err
	}
	for action, list := range map[string][]agents.SyncedAgent{
		audit.AgentCreate: done.Created, audit.AgentUpdate: done.Updated, audit.AgentDeactivate: done.Deactivated,
	} {
		for _, a := range list {
			s.audit(r.Context(), audit.Row{OwnerID: inst.OwnerID, Actor: "instance:" + inst.ID, Action: action, Subject: a.ID, Detail: map[string]string{"name": a.Name}})
			s.Bus.Control(bus.Control{Kind: bus.AgentChanged, AgentID: a.ID})
		}
	}
	httpd.WriteData(w, http.StatusOK, done)
	return nil
}

// shapeOf says where a body is not of the shape of a sync, in the words of
// JSON and not of the decoder.
func shapeOf(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return "the body is not a list of agent definitions: " + wrong.Field + " must not be a " + wrong.Value
	}
	return "the body is not a list of agent definitions"
}
