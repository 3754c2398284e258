package web

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/chart"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// activityData is how calls went over a time: charts, and the same as a table.
type activityData struct {
	Ranges []page.Choice // Value is the address
	Words  string        // the time, after "in the"
	Charts []*chart.Chart
	More   []*chart.Chart // folded
	Models bool           // answers took something of models
	Rows   []activityRow
	Sent   bool // the browser has it already

	of *act.Series
}

// activityRow is a step of the time in which calls ended.
type activityRow struct {
	When, Calls, Problems, Half, Most, Input, Output, Cost string
}

// defaultRange is shown unless the address asks for another.
const defaultRange = "24h"

// pickRange is the range of that name.
func pickRange(name string) act.Range {
	for _, r := range act.Ranges {
		if r.Name == name {
			return r
		}
	}
	return act.Ranges[slices.IndexFunc(act.Ranges, func(r act.Range) bool { return r.Name == defaultRange })]
}

// readSeries returns how calls to one or all agents of the visitor's went.
func (s *Surface) readSeries(ctx context.Context, v *page.Visitor, agentID string, r act.Range) (act.Series, error) {
	return s.series.get(s.Now(), v.User.ID+" "+agentID+" "+r.Name, func() (act.Series, error) {
		return s.Acts.Series(ctx, v.Caller(), agentID, r)
	})
}

// loadActivity draws how calls went over the range that the address asks for. brief
// folds all charts but those of calls and their durations. live is where the page's
// stream is.
func (s *Surface) loadActivity(r *page.Request, path, agentID string, brief bool) (d activityData, live string, err error) {
	picked := pickRange(r.URL.Query().Get("range"))
	found, err := s.readSeries(r.Context(), r.Visitor, agentID, picked)
	if err != nil {
		return d, "", err
	}
	d = newActivity(&found, path, brief)
	live = path + "/live"
	if path == "/" {
		live = "/live"
	}
	return d, live + "?range=" + picked.Name, nil
}

// streamActivity streams a page with charts, and leaves them out while they are as they
// were: they are large, and change more seldom than the rest.
func streamActivity(load page.Action, activityOf func(*page.View) *activityData) page.Action {
	return func(r *page.Request) (page.Answer, error) {
		var sent *act.Series // over this stream
		return page.Live(func(r *page.Request) (page.Answer, error) {
			answer, err := load(r)
			if err != nil {
				return nil, err
			}
			view := answer.(page.View) // charts are on nothing else
			d := activityOf(&view)
			d.Sent = sent != nil && sent.Since.Equal(d.of.Since) && slices.Equal(sent.Sums, d.of.Sums)
			sent = d.of
			return view, nil
		})(r)
	}
}

func newActivity(s *act.Series, path string, brief bool) activityData {
	d := activityData{Words: s.Words, of: s}
	for _, r := range act.Ranges {
		d.Ranges = append(d.Ranges, page.Choice{Value: path + "?range=" + r.Name, Text: r.Name, Picked: r.Name == s.Name})
	}
	total := s.Total()
	if total.Calls == 0 {
		return d
	}
	d.Models = total.Input+total.Output > 0
	d.Charts, d.More = []*chart.Chart{chartCalls(s, &total), chartDurations(s, &total)}, []*chart.Chart{chartProblems(s, &total)}
	if d.Models {
		d.More = append(d.More, chartTokens(s, &total))
		if isPriced(&total) {
			d.More = append(d.More, chartCost(s, &total))
		}
	}
	if !brief {
		d.Charts, d.More = append(d.Charts, d.More...), nil
	}
	for i := range slices.Backward(s.Sums) {
		if sum := &s.Sums[i]; sum.Calls > 0 {
			d.Rows = append(d.Rows, newActivityRow(chart.Stretch(s.Since.Add(time.Duration(i)*s.Step), s.Step), sum))
		}
	}
	return d
}

func newActivityRow(when string, s *calls.SeriesSum) activityRow {
	r := activityRow{
		When: when, Calls: page.Thousands(s.Calls), Problems: page.Thousands(s.Problems), Half: formatPercentile(s, .5), Most: formatPercentile(s, .95),
		Input: page.Thousands(s.Input), Output: page.Thousands(s.Output), Cost: "–",
	}
	if isPriced(s) {
		r.Cost = page.FormatMoney(s.Micros)
	}
	return r
}

// isPriced reports whether any of the tokens has a price: an unknown one is not 0.
func isPriced(s *calls.SeriesSum) bool { return s.Micros > 0 || s.Unpriced == 0 }

// drawOver makes a chart of a time; each of its series is a number of every step.
func drawOver(s *act.Series, c *chart.Chart, values ...func(*calls.SeriesSum) float64) *chart.Chart {
	c.Since, c.Step = s.Since, s.Step
	for i, value := range values {
		for j := range s.Sums {
			c.Series[i].Values = append(c.Series[i].Values, value(&s.Sums[j]))
		}
	}
	return c
}

func chartCalls(s *act.Series, total *calls.SeriesSum) *chart.Chart {
	said := page.Thousands(total.Calls) + ", none went wrong"
	if total.Problems > 0 {
		said = fmt.Sprintf("%s, %s went wrong", page.Thousands(total.Calls), page.Thousands(total.Problems))
	}
	return drawOver(
		s, &chart.Chart{
			ID: "calls-chart", Title: "Calls", Total: said, Words: "Calls that ended in the " + s.Words + ": " + said, Unit: chart.Count,
			Series: []chart.Series{{Name: "went wrong", Look: chart.Bad}, {Name: "went well", Look: chart.Solid}},
		},
		func(s *calls.SeriesSum) float64 { return float64(s.Problems) },
		func(s *calls.SeriesSum) float64 { return float64(s.Calls - s.Problems) },
	)
}

func chartProblems(s *act.Series, total *calls.SeriesSum) *chart.Chart {
	said := chart.Share.Format(shareOfProblems(total))
	return drawOver(
		s, &chart.Chart{
			ID: "problems-chart", Title: "Went wrong", Total: said, Words: "The share of calls that went wrong in the " + s.Words + ": " + said, Unit: chart.Share, Lines: true,
			Series: []chart.Series{{Name: "went wrong", Look: chart.Bad}},
		},
		shareOfProblems,
	)
}

func chartDurations(s *act.Series, total *calls.SeriesSum) *chart.Chart {
	half, most := formatPercentile(total, .5), formatPercentile(total, .95)
	return drawOver(
		s, &chart.Chart{
			ID: "durations-chart", Title: "Duration", Total: "p50 " + half + ", p95 " + most, Unit: chart.Seconds, Lines: true,
			Words:  "How long calls took in the " + s.Words + ": half of them at most " + half + ", 95 of 100 at most " + most,
			Series: []chart.Series{{Name: "p95", Look: chart.Solid}, {Name: "p50", Look: chart.Second}},
		},
		func(s *calls.SeriesSum) float64 { return percentile(s, .95) },
		func(s *calls.SeriesSum) float64 { return percentile(s, .5) },
	)
}

func chartTokens(s *act.Series, total *calls.SeriesSum) *chart.Chart {
	said := page.Thousands(total.Input) + " in, " + page.Thousands(total.Output) + " out"
	return drawOver(
		s, &chart.Chart{
			ID: "tokens-chart", Title: "Tokens", Total: said, Words: "Tokens that answers took in the " + s.Words + ": " + said, Unit: chart.Count,
			Series: []chart.Series{{Name: "in", Look: chart.Solid}, {Name: "out", Look: chart.Second}},
		},
		func(s *calls.SeriesSum) float64 { return float64(s.Input) },
		func(s *calls.SeriesSum) float64 { return float64(s.Output) },
	)
}

func chartCost(s *act.Series, total *calls.SeriesSum) *chart.Chart {
	said := page.FormatMoney(total.Micros)
	if total.Unpriced > 0 {
		said += ", without " + page.Thousands(total.Unpriced) + " tokens that have no price"
	}
	return drawOver(
		s, &chart.Chart{
			ID: "cost-chart", Title: "Cost", Total: said, Words: "What answers cost in the " + s.Words + ": " + said, Unit: chart.Dollars,
			Series: []chart.Series{{Name: "cost", Look: chart.Solid}},
		},
		func(s *calls.SeriesSum) float64 { return float64(s.Micros) / 1e6 },
	)
}

// shareOfProblems is NaN where no call ended.
func shareOfProblems(s *calls.SeriesSum) float64 {
	if s.Calls == 0 {
		return math.NaN()
	}
	return float64(s.Problems) / float64(s.Calls)
}

// percentile is in seconds; NaN where no call ended.
func percentile(s *calls.SeriesSum, share float64) float64 {
	took, ok := s.Percentile(share)
	if !ok {
		return math.NaN()
	}
	return took.Seconds()
}

// formatPercentile says it as well as it is known: of calls that took long, only that.
func formatPercentile(s *calls.SeriesSum, share float64) string {
	took, ok := s.Percentile(share)
	switch {
	case !ok:
		return "–"
	case took >= calls.LongestTook:
		return "over 4 min"
	}
	return page.FormatDuration(max(took, 1))
}
