package web

import (
	"encoding/csv"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/surface/web/page"
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
	return page.Writer(func(w http.ResponseWriter) error {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="beeos-audit.csv"`)
		out := csv.NewWriter(w)
		out.Write([]string{"at", "who", "who_id", "action", "subject", "subject_id", "more", "id"}) //nolint:errcheck // Flush keeps the error, and the reader may be gone
		for i, row := range shown {
			var more []string
			for _, d := range row.Detail {
				more = append(more, d.Name+"="+d.Value)
			}
			out.Write(harmlessCells(row.At.UTC().Format(time.RFC3339), row.Actor, found[i].Actor, row.Action, row.Subject, row.SubjectID, strings.Join(more, " "), row.ID)) //nolint:errcheck // as above
		}
		out.Flush()
		return nil
	}), nil
}

// harmlessCells keeps spreadsheets from taking what somebody wrote for a
// formula.
func harmlessCells(cells ...string) []string {
	for i, cell := range cells {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			cells[i] = "'" + cell
		}
	}
	return cells
}
