package web

import (
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// settingsData is what the owner of an agent decides about it.
type settingsData struct {
	Agent   *beeos.Agent
	Row     page.AgentRow
	Builtin *builtinData // nil = a program of its owner's
}

func (s *Surface) showSettings(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	b, err := s.findBuiltin(r.Context(), a)
	if err != nil {
		return nil, err
	}
	d := settingsData{Agent: a, Row: s.newAgentRow(r.Context(), a, b)}
	if b != nil {
		d.Builtin, err = s.loadBuiltin(r.Context(), a, b)
	}
	return viewTab("agent_settings", "settings", "Settings", d.Row, d), err
}

// setAgent changes what the owner decides about an agent, besides who reaches it.
func (s *Surface) setAgent(r *page.Request) (page.Answer, error) {
	id, title := r.PathValue("agent"), strings.TrimSpace(r.PostFormValue("title"))
	metadataOnly := r.PostFormValue("metadata_only") == "on"
	self, handOver, left := r.PostFormValue("self") == "on", r.PostFormValue("hand_over") == "on", beeos.WhenLeft(r.PostFormValue("when_left"))
	_, err := s.Acts.UpdateAgent(r.Context(), r.Caller(), id, agents.Patch{Title: &title, SelfTool: &self, HandOver: &handOver, WhenLeft: &left, MetadataOnly: &metadataOnly})
	return page.Redirect("/agents/"+id+"/settings", "saved"), err
}

// confirmDelete asks first: what goes does not come back.
func (s *Surface) confirmDelete(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := s.describeAgent(r.Context(), a)
	return page.View{Page: "delete_agent", Title: "Delete " + row.Title + "?", Room: "agents", Data: row}, err
}

func (s *Surface) deleteAgent(r *page.Request) (page.Answer, error) {
	return page.Redirect("/agents", "agent-deleted"), s.Acts.DeleteAgent(r.Context(), r.Caller(), r.PathValue("agent"))
}
