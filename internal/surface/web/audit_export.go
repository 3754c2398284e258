package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// exportLines bounds what one file has; a shorter time gives the rest.
const exportLines = 10_000

// exportAudit sends the lines that the filter of the page picks as a table, with
// names and ids, for those who keep or check the trail elsewhere.
func (s *Surface) exportAudit(r *page.Request) (page.Answer, error) {
	_, f, err := s.readAuditFilter(r)
	if err != nil {
		return nil, err
	}
	found, err := s.Trail.Find(r.Context(), f, exportLines)
	if err != nil {
		return nil, err
	}
	shown := s.describeAudit(r.Context(), r.Visitor, found)
	rows := make([][]string, len(shown))
	for i, row := range shown {
		var more []string
		for _, d := range row.Detail {
			more = append(more, d.Name+"="+d.Value)
		}
		rows[i] = []string{row.At.UTC().Format(time.RFC3339), row.Actor, found[i].Actor, row.Action, row.Subject, row.SubjectID, strings.Join(more, " "), row.ID}
	}
	return page.Writer(func(w http.ResponseWriter) error {
		httpd.WriteCSV(w, "beeos-audit.csv", []string{"at", "who", "who_id", "action", "subject", "subject_id", "more", "id"}, rows)
		return nil
	}), nil
}
