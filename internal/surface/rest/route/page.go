package route

import (
	"math"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
)

// Page is what a listing asks for: newest first, after the row that the last
// page ended with.
type Page struct {
	Before       string
	Limit        int
	Open, Closed bool // neither is both
}

// ReadPage reads since and limit from the URL.
func (r *Request) ReadPage(most int64) (p Page, err error) {
	p.Before = r.URL.Query().Get("since")
	if p.Before != "" && beeos.IDTime(strings.TrimPrefix(p.Before, "ch-")).IsZero() {
		return p, InvalidSince()
	}
	limit, err := r.QueryLimit("limit", 50, most)
	p.Limit = int(limit)
	return p, err
}

// InvalidSince refuses a since that no page has ended with.
func InvalidSince() error {
	return beeos.Errorf(beeos.InvalidParam, "since must be the next_since of the page before")
}

// AtMost is how many rows to load: one more than the page has tells whether
// there are more.
func (p Page) AtMost() int { return p.Limit + 1 }

// CutPage returns the views of the rows on the page, and where the next page
// begins if there are more rows.
func CutPage[R, V any](p Page, rows []R, view func(*R) V, id func(*R) string) (views []V, next string) {
	if len(rows) > p.Limit {
		rows = rows[:p.Limit]
		next = id(&rows[p.Limit-1])
	}
	return Views(rows, view), next
}

// PageOf answers with the rows on the page as the member of that name, and with
// where the next page begins if there is one.
func PageOf[R, V any](member string, p Page, rows []R, view func(*R) V, id func(*R) string) any {
	views, next := CutPage(p, rows, view, id)
	list := map[string]any{member: views}
	if next != "" {
		list["next_since"] = next
	}
	return list
}

// Views shows every row.
func Views[R, V any](rows []R, view func(*R) V) []V {
	views := make([]V, len(rows))
	for i := range rows {
		views[i] = view(&rows[i])
	}
	return views
}

// ReadStatePage is ReadPage for what is open at first and closed later.
func (r *Request) ReadStatePage(most int64) (Page, error) {
	p, err := r.ReadPage(most)
	switch r.URL.Query().Get("state") {
	case "active", "open":
		p.Open = true
	case "closed":
		p.Closed = true
	case "", "all":
	default:
		return p, beeos.Errorf(beeos.InvalidParam, "state must be active, open, closed or all")
	}
	return p, err
}

// QueryInt reads an integer parameter of the URL.
func (r *Request) QueryInt(name string, def, low, high int64) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < low || n > high {
		return 0, beeos.Errorf(beeos.InvalidParam, "%s must be an integer from %d%s", name, low, describeMost(high))
	}
	return n, nil
}

// QueryLimit reads how many rows a page is to have. Who asks for more than the
// most gets the most, and the place where the next page begins.
func (r *Request) QueryLimit(name string, def, most int64) (int64, error) {
	n, err := r.QueryInt(name, def, 1, math.MaxInt64)
	return min(n, most), err
}

func describeMost(high int64) string {
	if high == math.MaxInt64 {
		return " upwards"
	}
	return " to " + strconv.FormatInt(high, 10)
}

// QueryBool reads a parameter that is true or false; absent is false.
func (r *Request) QueryBool(name string) (bool, error) {
	v := r.URL.Query().Get(name)
	if v != "" && v != "true" && v != "false" {
		return false, beeos.Errorf(beeos.InvalidParam, "%s must be true or false", name)
	}
	return v == "true", nil
}
