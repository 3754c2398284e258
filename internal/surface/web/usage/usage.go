// Package usage is the part of the console that shows what answers of a person's
// agents took of models, in tokens and money, added up by what one likes.
package usage

import (
	"cmp"
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/price"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/httpd"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages *page.Server
	Acts  *act.Acts
	Now   func() time.Time
}

// Room serves the page.
type Room struct{ Options }

// Mount adds the template and routes to the console.
func Mount(opt Options) error {
	room := &Room{opt}
	room.Pages.Handle("GET /usage", page.SignedIn, room.show)
	room.Pages.Handle("GET /usage/export", page.SignedIn, room.export)
	return room.Pages.AddTemplates(templates)
}

// group is something that usage is added up by.
type group struct {
	value, text string
	by          []string // of calls.UsageGroups
	heads       []string
	cells       func(r *calls.UsageRow, n *names) []string
}

var groups = []group{
	{"agent", "agent and model", []string{"agent", "model"}, []string{"Agent", "Model"}, func(r *calls.UsageRow, n *names) []string { return []string{n.agent(r.AgentID), n.model(r.Model)} }},
	{"day", "day", []string{"day"}, []string{"Day"}, func(r *calls.UsageRow, _ *names) []string { return []string{r.Day.Format(time.DateOnly)} }},
	{"caller", "caller", []string{"caller"}, []string{"Caller"}, func(r *calls.UsageRow, n *names) []string { return []string{n.caller(r.Caller)} }},
	{"credential", "key or app", []string{"caller", "credential"}, []string{"Caller", "Key or app"}, func(r *calls.UsageRow, n *names) []string {
		return []string{n.caller(r.Caller), n.credential(r.Credential)}
	}},
	{"tool", "agent and tool", []string{"agent", "tool"}, []string{"Agent", "Tool"}, func(r *calls.UsageRow, n *names) []string {
		return []string{n.agent(r.AgentID), safetext.Line(cmp.Or(r.Tool, "message"), 60)}
	}},
	{"model", "model", []string{"model"}, []string{"Model"}, func(r *calls.UsageRow, n *names) []string { return []string{n.model(r.Model)} }},
}

var spans = []page.Choice{{Value: "1", Text: "today"}, {Value: "7", Text: "last 7 days"}, {Value: "30", Text: "last 30 days"}, {Value: "90", Text: "last 90 days"}}

// data is the page.
type data struct {
	Heads  []string
	Rows   []row
	Total  row
	By     []page.Choice
	Days   []page.Choice
	Export string
	AsOf   string // the date of the prices that come with the program
}

// row is a line of the table: what it is about, then the sums.
type row struct {
	Cells                           []string
	Answers, Input, Output, Missing string
	Cost                            string // empty = no price is known
}

// read adds up what the address asks for.
func (room *Room) read(r *page.Request) (d data, rows []calls.UsageRow, err error) {
	q := r.URL.Query()
	by := groups[max(0, slices.IndexFunc(groups, func(g group) bool { return g.value == q.Get("by") }))]
	days := spans[max(0, slices.IndexFunc(spans, func(c page.Choice) bool { return c.Value == cmp.Or(q.Get("days"), "30") }))]
	for _, g := range groups {
		d.By = append(d.By, page.Choice{Value: g.value, Text: g.text, Picked: g.value == by.value})
	}
	for _, c := range spans {
		d.Days = append(d.Days, page.Choice{Value: c.Value, Text: c.Text, Picked: c.Value == days.Value})
	}
	back, _ := strconv.Atoi(days.Value) // one of ours
	now := room.Now().UTC()
	rows, err = room.Acts.Usage(r.Context(), r.Caller(), act.UsageFilter{Since: now.AddDate(0, 0, 1-back), Until: now, By: by.by})
	if err != nil {
		return d, nil, err
	}
	names := room.newNames(r)
	d.Heads, d.AsOf, d.Export = by.heads, price.Default().AsOf, page.Address("/usage/export", "by", by.value, "days", days.Value)
	var total calls.UsageSum
	for i := range rows {
		d.Rows = append(d.Rows, newRow(by.cells(&rows[i], names), &rows[i].UsageSum))
		total.Add(rows[i].UsageSum)
	}
	d.Total = newRow(nil, &total)
	return d, rows, nil
}

func (room *Room) show(r *page.Request) (page.Answer, error) {
	d, _, err := room.read(r)
	if err != nil && !r.NoteProblem(err) {
		return nil, err
	}
	return page.View{Page: "usage", Title: "Usage", Room: "usage", Data: d}, nil
}

// export sends the table of the page as a file.
func (room *Room) export(r *page.Request) (page.Answer, error) {
	d, rows, err := room.read(r)
	if err != nil {
		return nil, err
	}
	table := make([][]string, len(rows))
	for i, s := range rows {
		cost := ""
		if isPriced(&s.UsageSum) {
			cost = fmt.Sprintf("%.6f", float64(s.Micros)/1e6)
		}
		table[i] = append(slices.Clone(d.Rows[i].Cells), fmt.Sprint(s.Answers), fmt.Sprint(s.Input), fmt.Sprint(s.Output), cost, fmt.Sprint(s.Unpriced))
	}
	return page.Writer(func(w http.ResponseWriter) error {
		httpd.WriteCSV(w, "beeos-usage.csv", append(slices.Clone(d.Heads), "answers", "input_tokens", "output_tokens", "cost_usd", "unpriced_tokens"), table)
		return nil
	}), nil
}

func newRow(cells []string, s *calls.UsageSum) row {
	r := row{Cells: cells, Answers: page.Thousands(s.Answers), Input: page.Thousands(s.Input), Output: page.Thousands(s.Output)}
	if s.Unpriced > 0 {
		r.Missing = page.Thousands(s.Unpriced)
	}
	if isPriced(s) {
		r.Cost = page.FormatMoney(s.Micros)
	}
	return r
}

// isPriced reports whether any of the tokens has a price: an unknown one is not 0.
func isPriced(s *calls.UsageSum) bool { return s.Micros > 0 || s.Unpriced == 0 }
