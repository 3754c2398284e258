package rest

import (
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/surface/rest/route"
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

func viewAudit(row *audit.Row) auditView {
	v := auditView{row.ID, row.At, row.Actor, row.Action, row.Subject, row.Detail}
	if v.Detail == nil {
		v.Detail = map[string]string{}
	}
	return v
}

// listAudit shows who did what to what is the caller's, newest first.
func (s *Surface) listAudit(r *route.Request) (any, error) {
	p, err := r.ReadPage(200)
	if err != nil {
		return nil, err
	}
	var rows []audit.Row
	if p.Before == "" {
		rows, err = s.opt.DB.Audit.List(r.Context(), r.Caller.UserID, p.AtMost())
	} else {
		rows, err = s.opt.DB.Audit.ListBefore(r.Context(), r.Caller.UserID, p.Before, p.AtMost())
	}
	if beeos.CodeOf(err) == beeos.NotFound {
		err = route.InvalidSince()
	}
	return route.PageOf("entries", p, rows, viewAudit, func(row *audit.Row) string { return row.ID }), err
}
