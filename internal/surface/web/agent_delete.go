package web

import (
	"net/http"

	"github.com/beeos/beeos/internal/surface/web/page"
)

// deletePage asks first: what goes does not come back.
func (s *Site) deletePage(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, err := s.owned(r, v)
	if err != nil {
		return err
	}
	b, err := s.builtin(r.Context(), a)
	if err != nil {
		return err
	}
	row := s.agentRow(r.Context(), a, b)
	return s.ShowPage(w, r, v, http.StatusOK, "delete", page.View{Title: "Delete " + row.Title + "?", Room: "agents", Data: row})
}

func (s *Site) deleteAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.Acts.DeleteAgent(r.Context(), v.Caller(), r.PathValue("agent")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents", "agent-deleted")
}
