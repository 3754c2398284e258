package explorer

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

const (
	perPage   = 50
	maxChoice = 200 // names that a filter offers
)

// listData is a page of calls.
type listData struct {
	Rows     []page.CallRow
	Filter   form
	Filtered bool
	Older    string // where the next page is; empty = this is the last
	Newest   string // where the first is; empty = this is it
	Fixed    string // where the same time is shown tomorrow; empty = here

	Agents, Callers, Surfaces, Tools, Outcomes, Times, Durations []page.Choice
}

// form is which calls the visitor wants, as they were asked for.
type form struct{ Agent, Tool, Outcome, Caller, Surface, Last, From, Until, Slower string }

var (
	times     = []page.Choice{{Value: "1h", Text: "last hour"}, {Value: "24h", Text: "last day"}, {Value: "168h", Text: "last 7 days"}, {Value: "720h", Text: "last 30 days"}}
	durations = []page.Choice{{Value: "1s", Text: "a second or more"}, {Value: "10s", Text: "10 seconds or more"}, {Value: "1m", Text: "a minute or more"}}
)

// notOK is the choice of all outcomes that are not what the caller hoped for.
const notOK = "problems"

func (e *Explorer) showCalls(r *page.Request) (page.Answer, error) {
	q := r.URL.Query()
	d := listData{Filter: form{q.Get("agent"), q.Get("tool"), q.Get("outcome"), q.Get("caller"), q.Get("surface"), q.Get("last"), tidyTime(q.Get("from")), tidyTime(q.Get("until")), q.Get("slower")}}
	d.Filtered = d.Filter != form{}
	before := q.Get("before")
	view := page.View{Page: "calls", Title: "Calls", Room: "calls"}
	if before == "" { // what is older does not change
		view.Live = "/calls/live?" + d.Filter.query().Encode()
	} else {
		d.Newest = "/calls?" + d.Filter.query().Encode()
	}
	if err := e.fillChoices(r, &d); err != nil {
		return nil, err
	}
	f, err := d.Filter.read(e.Now())
	if err == nil && d.Filter.Last != "" {
		d.Fixed = d.Filter.fixed(f.Since, e.Now())
	}
	if err == nil && before != "" && beeos.IDTime(before).IsZero() {
		err = beeos.Errorf(beeos.InvalidParam, "the address names a page that is none; begin with the newest")
	}
	if r.NoteProblem(err) {
		view.Data = d
		return view, nil
	}
	if err != nil {
		return nil, err
	}
	f.Before, f.Limit = before, perPage+1
	found, err := e.Acts.Calls(r.Context(), r.Caller(), f)
	if err != nil {
		return nil, err
	}
	if len(found) > perPage {
		found = found[:perPage]
		older := d.Filter.query()
		older.Set("before", found[perPage-1].Turn)
		d.Older = "/calls?" + older.Encode()
	}
	d.Rows, err = e.describeCalls(r.Context(), r.Visitor, found)
	view.Data = d
	return view, err
}

// query is the form as it stands in an address.
func (f form) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{
		"agent": f.Agent, "tool": f.Tool, "outcome": f.Outcome, "caller": f.Caller, "surface": f.Surface, "last": f.Last, "from": f.From, "until": f.Until, "slower": f.Slower,
	} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// read is the filter that the form means.
func (f form) read(now time.Time) (act.CallFilter, error) {
	c := act.CallFilter{AgentID: f.Agent, Filter: calls.Filter{Tool: f.Tool, Surface: f.Surface}}
	if f.Caller != "" {
		c.Callers = []string{f.Caller}
	}
	switch f.Outcome {
	case "":
	case notOK:
		c.Outcomes = calls.Problems()
	default:
		o, err := calls.ParseOutcome(f.Outcome)
		if err != nil {
			return c, err
		}
		c.Outcomes = []calls.Outcome{o}
	}
	last, err := readSpan(f.Last)
	if err != nil {
		return c, err
	}
	if c.Since, err = readTime(f.From); err != nil {
		return c, err
	}
	if c.Until, err = readTime(f.Until); err != nil {
		return c, err
	}
	if last > 0 {
		c.Since = later(c.Since, now.Add(-last))
	}
	c.Slower, err = readSpan(f.Slower)
	return c, err
}

func readSpan(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, beeos.Errorf(beeos.InvalidParam, "write a time as 24h, 10m or 30s")
	}
	return d, nil
}

// minute is how times stand in addresses and fields, in UTC; seconds only where there
// are some.
const minute = "2006-01-02T15:04"

// tidyTime writes a time of an address as a field takes it; also one as REST has them.
func tidyTime(text string) string {
	t, err := readTime(text)
	switch {
	case err != nil || t.IsZero():
		return text
	case t.Truncate(time.Minute).Equal(t):
		return t.Format(minute)
	}
	return t.Format(minute + ":05.999")
}

func readTime(text string) (t time.Time, err error) {
	if text == "" {
		return t, nil
	}
	for _, layout := range []string{minute, minute + ":05", time.RFC3339} {
		if t, err = time.Parse(layout, text); err == nil && t.Year() >= 1970 && t.Year() <= 9999 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, beeos.Errorf(beeos.InvalidParam, "write a time as 2026-01-31T14:00; it is UTC")
}

// fixed is the address of what is shown now. That of the last hour shows another hour
// in an hour.
func (f form) fixed(since, now time.Time) string {
	f.Last, f.From = "", since.UTC().Truncate(time.Minute).Format(minute)
	if f.Until == "" {
		f.Until = now.UTC().Truncate(time.Minute).Add(time.Minute).Format(minute)
	}
	return "/calls?" + f.query().Encode()
}

// fillChoices fills in what the visitor can pick from.
func (e *Explorer) fillChoices(r *page.Request, d *listData) error {
	ctx := r.Context()
	owned, _, err := e.Options.Agents.List(ctx, agentstore.Filter{OwnerID: r.User.ID, Limit: maxChoice})
	if err != nil {
		return err
	}
	for _, a := range owned {
		d.Agents = append(d.Agents, page.Choice{Value: a.ID, Text: page.AgentTitle(a)})
	}
	slices.SortFunc(d.Agents, func(a, b page.Choice) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Text), strings.ToLower(b.Text)), strings.Compare(a.Value, b.Value))
	})
	d.Agents = pick(d.Agents, d.Filter.Agent)
	names, err := e.Acts.CallNames(ctx, r.Caller())
	if err != nil {
		return err
	}
	callers := e.NameCallers(ctx, r.Visitor)
	list := func(values []string, picked string, name func(string) string) []page.Choice {
		var list []page.Choice
		for _, v := range values[:min(len(values), maxChoice)] {
			list = append(list, page.Choice{Value: v, Text: name(v)})
		}
		return pick(list, picked)
	}
	line := func(s string) string { return safetext.Line(s, 60) }
	d.Callers, d.Surfaces, d.Tools = list(names.Callers, d.Filter.Caller, callers), list(names.Surfaces, d.Filter.Surface, line), list(names.Tools, d.Filter.Tool, line)
	d.Times, d.Durations = pick(slices.Clone(times), d.Filter.Last), pick(slices.Clone(durations), d.Filter.Slower)
	d.Outcomes = append(d.Outcomes, page.Choice{Value: notOK, Text: "any problem"})
	for _, name := range calls.Outcomes() {
		o, err := calls.ParseOutcome(name)
		if err != nil {
			return err
		}
		words, _ := describeOutcome(o)
		d.Outcomes = append(d.Outcomes, page.Choice{Value: name, Text: words})
	}
	d.Outcomes = pick(d.Outcomes, d.Filter.Outcome)
	return nil
}

// pick marks the choice that was made. One that is not in the list, as an address
// may name it, is added.
func pick(list []page.Choice, value string) []page.Choice {
	if value == "" {
		return list
	}
	i := slices.IndexFunc(list, func(c page.Choice) bool { return c.Value == value })
	if i < 0 {
		list, i = append(list, page.Choice{Value: value, Text: safetext.Line(value, 60)}), len(list)
	}
	list[i].Picked = true
	return list
}
