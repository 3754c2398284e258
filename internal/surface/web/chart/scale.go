package chart

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/beeos/beeos/internal/surface/web/page"
)

// Unit says what numbers are, and how they are read.
type Unit struct {
	Format func(v float64) string       // in full
	axis   func(v, step float64) string // in short, on a scale with such steps
	ladder []float64                    // steps of a scale that people count in; beyond them, tens
}

// Units.
var (
	Count   = Unit{func(v float64) string { return page.Thousands(int64(math.Round(v))) }, shortCount, []float64{1, 2, 5}}
	Share   = Unit{formatShare, func(v, _ float64) string { return formatShare(v) }, []float64{.01, .02, .05, .1, .2, .25}} // of 1
	Seconds = Unit{
		func(v float64) string { return page.FormatDuration(time.Duration(v * float64(time.Second))) }, shortSeconds,
		[]float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300},
	}
	Dollars = Unit{
		func(v float64) string { return page.FormatMoney(int64(math.Round(v * 1e6))) }, shortDollars,
		[]float64{.0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
	}
)

// scale is the axis of the values, from 0 on.
type scale struct {
	step  float64
	steps int
}

func (s scale) max() float64 { return s.step * float64(s.steps) }

// maxSteps is how many lines a scale has room for.
const maxSteps = 4

// top is a scale that reaches up to a value, in steps that people count in.
func (u Unit) top(highest float64) scale {
	last := len(u.ladder) - 1
	for tens := 1.0; ; tens *= 10 {
		for i, step := range u.ladder {
			if tens > 1 && i <= last-3 {
				continue // past the end only the last three go on, as 1, 2, 5 do
			}
			if need := int(math.Ceil(highest/(step*tens) - 1e-9)); need <= maxSteps {
				return scale{step * tens, max(1, need)}
			}
		}
	}
}

func trimNumber(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }

func shortCount(v, _ float64) string {
	switch {
	case v >= 1e9:
		return trimNumber(v/1e9) + "G"
	case v >= 1e6:
		return trimNumber(v/1e6) + "M"
	case v >= 1e3:
		return trimNumber(v/1e3) + "k"
	}
	return trimNumber(v)
}

func formatShare(v float64) string {
	if v > 0 && v < .01 {
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}

// shortDollars shows cents as two figures, and as many more as the steps need.
func shortDollars(v, step float64) string {
	switch {
	case v == 0:
		return "$0"
	case step >= 1:
		return "$" + page.Thousands(int64(math.Round(v)))
	}
	return "$" + strconv.FormatFloat(v, 'f', max(2, int(math.Ceil(-math.Log10(step)-1e-9))), 64)
}

func shortSeconds(v, _ float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1:
		return trimNumber(v*1e3) + " ms"
	case v < 120:
		return trimNumber(v) + " s"
	}
	return trimNumber(v/60) + " min"
}

// between are the distances of the times that are named below a chart.
var between = []time.Duration{
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

const (
	day       = 24 * time.Hour
	mostTicks = 7
)

// tickDistance is how far apart the times are that are named below a chart.
func tickDistance(whole time.Duration) time.Duration {
	for _, d := range between {
		if whole/d <= mostTicks {
			return d
		}
	}
	days := max(1, (whole+mostTicks*day-1)/(mostTicks*day))
	return days * day
}

// ticks are the times that are named below a chart: full ones, in UTC.
func ticks(since time.Time, step time.Duration, n int) (list []time.Time) {
	whole := time.Duration(n) * step
	apart := tickDistance(whole)
	for at := since.UTC().Truncate(apart); at.Before(since.Add(whole)); at = at.Add(apart) {
		if !at.Before(since) {
			list = append(list, at)
		}
	}
	return list
}

func tickLabel(at time.Time, step time.Duration, n int) string {
	if tickDistance(time.Duration(n)*step) >= day {
		return at.Format("Mon 2")
	}
	return at.Format("15:04")
}

// Stretch says when a step is, in UTC.
func Stretch(at time.Time, step time.Duration) string {
	at = at.UTC()
	return at.Format("2 Jan 15:04") + "–" + at.Add(step).Format("15:04")
}
