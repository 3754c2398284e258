package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// auditView is one line of the caller's trail.
type auditView struct {
	ID      string            `json:"id"`
	At      time.Time         `json:"at"`
	Actor   string            `json:"actor"`
	Action  string            `json:"action"`
	Subject string            `json:"subject"`
	Detail  map[string]string `json:"detail"`
}

// listAudit shows who did what to what is the caller's, newest first.
func (s *Surface) listAudit(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	limit, err := query(r, "limit", 50, 1, 200)
	if err != nil {
		return err
	}
	var rows []audit.Row
	if since := r.URL.Query().Get("since"); since != "" {
		rows, err = s.DB.Audit.ListBefore(r.Context(), c.UserID, since, int(limit)+1)
		if err != nil && beeos.CodeOf(err) == beeos.NotFound {
			err = beeos.Errorf(beeos.InvalidParam, "since must be the next_since of the page before")
		}
	} else {
		rows, err = s.DB.Audit.List(r.Context(), c.UserID, int(limit)+1)
	}
	if err != nil {
		return err
	}
	list := struct {
		Entries   []auditView `json:"entries"`
		NextSince string      `json:"next_since,omitempty"`
	}{Entries: []auditView{}}
	for _, a := range rows[:min(len(rows), int(limit))] {
		if a.Detail == nil {
			a.Detail = map[string]string{}
		}
		list.Entries = append(list.Entries, auditView{a.ID, a.At, a.Actor, a.Action, a.Subject, a.Detail})
	}
	if len(rows) > int(limit) {
		list.NextSince = rows[limit-1].ID
	}
	httpd.WriteData(w, http.StatusOK, list)
	return nil
}
