package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

const auditLines = 200

type auditData struct {
	Rows     []auditRow
	Everyone bool // all trails, which admins may see
}

type auditRow struct {
	ID, Actor, Action, Subject string
	At                         time.Time
	Detail                     []auditDetail
}

type auditDetail struct{ Name, Value string }

func (s *Site) auditPage(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	d := auditData{Everyone: v.User.Admin && r.URL.Query().Get("of") == "everyone"}
	owner := v.User.ID
	if d.Everyone {
		owner = ""
	}
	rows, err := s.DB.Audit.List(r.Context(), owner, auditLines)
	if err != nil {
		return err
	}
	d.Rows = s.auditRows(r.Context(), v, rows)
	return s.ShowPage(w, r, v, http.StatusOK, "audit", page.View{Title: "Audit", Room: "audit", Data: d})
}

func (s *Site) auditRows(ctx context.Context, v *page.Visitor, rows []audit.Row) []auditRow {
	names := s.callers(ctx, v)
	name := func(id string) string {
		if strings.HasPrefix(id, "user:") {
			return names(id)
		}
		return safetext.Line(id, 80)
	}
	list := make([]auditRow, len(rows))
	for i, r := range rows {
		subject := r.Subject
		if r.Subject == r.OwnerID { // what was done to a person is in that person's trail
			subject = "user:" + subject
		}
		list[i] = auditRow{ID: r.ID, Actor: name(r.Actor), Action: safetext.Line(r.Action, 60), Subject: name(subject), At: r.At}
		for k, value := range r.Detail {
			if value != "" {
				list[i].Detail = append(list[i].Detail, auditDetail{safetext.Line(k, 40), safetext.Line(value, 120)})
			}
		}
		slices.SortFunc(list[i].Detail, func(a, b auditDetail) int { return cmp.Compare(a.Name, b.Name) })
	}
	return list
}
