package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	storedcalls "github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// usageView is what was taken by all that has something in common; what it was
// not grouped by is left out.
type usageView struct {
	Day            string   `json:"day,omitempty"`
	AgentID        string   `json:"agent_id,omitempty"`
	Caller         string   `json:"caller,omitempty"`
	CallerName     string   `json:"caller_name,omitempty"`
	CredentialID   string   `json:"credential_id,omitempty"`
	Tool           string   `json:"tool,omitempty"`
	Model          string   `json:"model,omitempty"`
	Answers        int64    `json:"answers"`
	InputTokens    int64    `json:"input_tokens"`
	OutputTokens   int64    `json:"output_tokens"`
	CostUSD        *float64 `json:"cost_usd"` // null = no price is known
	UnpricedTokens int64    `json:"unpriced_tokens"`
}

func viewUsage(r *storedcalls.UsageRow, name func(principal string) string) usageView {
	v := usageView{
		AgentID: r.AgentID, Caller: r.Caller, CredentialID: r.Credential, Tool: r.Tool, Model: r.Model,
		Answers: r.Answers, InputTokens: r.Input, OutputTokens: r.Output, UnpricedTokens: r.Unpriced,
	}
	if !r.Day.IsZero() {
		v.Day = r.Day.Format(time.DateOnly)
	}
	if r.Caller != "" {
		v.CallerName = name(r.Caller)
	}
	if r.Micros > 0 || r.Unpriced == 0 {
		usd := float64(r.Micros) / 1e6
		v.CostUSD = &usd
	}
	return v
}

// getUsage adds up what answers of the caller's agents took.
func (s *Surface) getUsage(r *route.Request) (any, error) {
	q := r.URL.Query()
	f := act.UsageFilter{AgentID: q.Get("agent_id")}
	for _, list := range q["group_by"] {
		f.By = append(f.By, strings.Split(list, ",")...)
	}
	format := q.Get("format")
	if !slices.Contains([]string{"", "json", "csv"}, format) {
		return nil, beeos.Errorf(beeos.InvalidParam, "format is json or csv")
	}
	var err error
	if f.Since, err = queryDay(r, "from"); err != nil {
		return nil, err
	}
	if f.Until, err = queryDay(r, "until"); err != nil {
		return nil, err
	}
	rows, err := s.opt.Acts.Usage(r.Context(), r.Caller, f)
	if err != nil {
		return nil, err
	}
	names := s.opt.Acts.NamePrincipals(r.Context(), r.Caller)
	views := route.Views(rows, func(row *storedcalls.UsageRow) usageView { return viewUsage(row, names) })
	if format == "csv" {
		return route.Writer(func(w http.ResponseWriter) error {
			httpd.WriteCSV(w, "beeos-usage.csv", usageColumns, route.Views(views, usageCells))
			return nil
		}), nil
	}
	return map[string]any{"usage": views}, nil
}

var usageColumns = []string{
	"day", "agent_id", "caller", "caller_name", "credential_id", "tool", "model", "answers", "input_tokens", "output_tokens", "cost_usd", "unpriced_tokens",
}

func usageCells(v *usageView) []string {
	cost := ""
	if v.CostUSD != nil {
		cost = strconv.FormatFloat(*v.CostUSD, 'f', 6, 64)
	}
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		v.Day, v.AgentID, v.Caller, v.CallerName, v.CredentialID, v.Tool, v.Model, n(v.Answers), n(v.InputTokens), n(v.OutputTokens), cost, n(v.UnpricedTokens),
	}
}

// queryDay reads a day off the URL.
func queryDay(r *route.Request, name string) (time.Time, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, v)
	if err != nil || t.Year() < 1970 {
		return time.Time{}, beeos.Errorf(beeos.InvalidParam, "%s must be a day such as 2026-01-31", name)
	}
	return t, nil
}
