package rest

import (
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// page is what a listing of tasks or conversations asks for: newest first,
// after the one that the last page ended with.
type page struct {
	open, closed bool
	before       string
	limit        int
}

func readPage(r *http.Request) (p page, err error) {
	q := r.URL.Query()
	switch state := q.Get("state"); state {
	case "active", "open":
		p.open = true
	case "closed":
		p.closed = true
	case "", "all":
	default:
		return p, beeos.Errorf(beeos.InvalidParam, "state must be active, open, closed or all")
	}
	p.before = q.Get("since")
	if p.before != "" && beeos.IDTime(strings.TrimPrefix(p.before, "ch-")).IsZero() {
		return p, beeos.Errorf(beeos.InvalidParam, "since must be the next_since of the page before")
	}
	limit, err := query(r, "limit", 50, 1, 100)
	p.limit = int(limit)
	return p, err
}

// readMaybe is read for a body that may be absent.
func readMaybe(w http.ResponseWriter, r *http.Request, limit int64, want shape) error {
	if r.ContentLength == 0 || r.Body == http.NoBody {
		return nil
	}
	return read(w, r, limit, false, want)
}

// accepted answers for what has begun and goes on by itself. The client may
// have named the operation.
func accepted(w http.ResponseWriter, operation string) {
	httpd.WriteData(w, http.StatusAccepted, map[string]string{"operation_id": operation, "status": "accepted"})
}
