// Package chart draws numbers over time as SVG, on the server: bars that stand on each
// other, or lines, with axes (scale.go) and a word for each point when the pointer is
// on it. A chart is as wide as its place, its letters and strokes stay as they are;
// chart.css has its colours. Series are told apart by hatching and dashes as well as
// by colour, and the chart says in a sentence what it shows. Who uses it puts the same
// numbers into a table beside it.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
)

// Chart is numbers over time.
type Chart struct {
	ID     string // its own on the page
	Title  string
	Total  string // what it comes to, in few words
	Words  string // what it shows, in a sentence
	Unit   Unit
	Since  time.Time
	Step   time.Duration
	Lines  bool // the series are lines; otherwise bars, the first one at the bottom
	Series []Series
}

// Series is one of the numbers.
type Series struct {
	Name   string
	Look   Look
	Values []float64 // one per step; NaN = there is none
}

// Look says how a series is drawn.
type Look string

// Looks. They differ without colours, too.
const (
	Solid  Look = "solid"  // filled; a solid line
	Second Look = "second" // hatched; a dashed line
	Bad    Look = "bad"    // hatched the other way, in the colour of what went wrong; a solid line
)

// The measures of a chart in pixels, from its top: a little room for the label of the
// highest tick, the plot, and what stands below it.
const (
	above  = 8
	plot   = 120
	below  = 22
	height = above + plot + below
)

// SVG draws the chart.
func (c *Chart) SVG() template.HTML {
	d := drawing{Chart: c, top: c.Unit.top(c.highest()), n: c.points()}
	d.print(`<svg class="chart" role="img" aria-label="%s" height="%d">`, template.HTMLEscapeString(c.Words), height)
	d.drawPatterns()
	d.drawScale()
	d.drawTimes()
	if c.Lines {
		d.drawLines()
	} else {
		d.drawBars()
	}
	d.drawPoints()
	d.print(`</svg>`)
	return template.HTML(d.b.String()) //nolint:gosec // numbers, and escaped text
}

// Key is a small picture of how a series is drawn, for the legend.
func (c *Chart) Key(s Series) template.HTML {
	if c.Lines {
		return template.HTML(fmt.Sprintf(`<svg class="key" aria-hidden="true" width="22" height="10"><path class="%s" d="M0 5H22"/></svg>`, s.Look)) //nolint:gosec // a Look is ours
	}
	return template.HTML(fmt.Sprintf(`<svg class="key" aria-hidden="true" width="14" height="10"><rect%s width="14" height="10"/></svg>`, c.paint(s.Look))) //nolint:gosec // a Look is ours
}

// points is how many steps the chart has.
func (c *Chart) points() int {
	n := 0
	for _, s := range c.Series {
		n = max(n, len(s.Values))
	}
	return n
}

// highest is the largest number that must have room.
func (c *Chart) highest() (most float64) {
	for i := range c.points() {
		stack := 0.0
		for _, s := range c.Series {
			switch v := s.Values[i]; {
			case math.IsNaN(v):
			case c.Lines:
				stack = max(stack, v)
			default:
				stack += v
			}
		}
		most = max(most, stack)
	}
	return most
}

// paint is the attributes of a bar. A hatched one is filled with a pattern of this
// chart's own.
func (c *Chart) paint(l Look) string {
	if l == Solid {
		return ` class="solid"`
	}
	return fmt.Sprintf(` class="%s" fill="url(#%s-%s)"`, l, c.ID, l)
}

// drawing is a chart that is being drawn.
type drawing struct {
	*Chart
	b   strings.Builder
	top scale
	n   int
}

func (d *drawing) print(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

// x is where a step begins, in hundredths of the width.
func (d *drawing) x(step float64) float64 { return 100 * step / float64(max(1, d.n)) }

// y is where a value is, in pixels.
func (d *drawing) y(v float64) float64 { return above + plot*(1-min(1, max(0, v/d.top.max()))) }

// drawPatterns defines how bars are hatched.
func (d *drawing) drawPatterns() {
	for _, s := range d.Series {
		if d.Lines || s.Look == Solid {
			continue
		}
		turn := map[Look]int{Second: 45, Bad: -45}[s.Look]
		d.print(`<pattern id="%s-%s" class="%s" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(%d)"><rect class="ground" width="4" height="4"/><rect class="stroke" width="2" height="4"/></pattern>`, d.ID, s.Look, s.Look, turn)
	}
}

func (d *drawing) drawScale() {
	for i := range d.top.steps + 1 {
		v := d.top.step * float64(i)
		d.print(`<line class="grid" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/><text class="value" x="-8" y="%.1f">%s</text>`, d.y(v), d.y(v), d.y(v)+4, template.HTMLEscapeString(d.Unit.axis(v, d.top.step)))
	}
}

func (d *drawing) drawTimes() {
	for i, at := range ticks(d.Since, d.Step, d.n) {
		x := d.x(float64(at.Sub(d.Since)) / float64(d.Step))
		class := "time"
		if x > 97 {
			class += " last" // it must not stick out at the side
		}
		if i%2 == 1 {
			class += " spare" // where there is little room, every other one is left out
		}
		d.print(`<line class="tick" x1="%.2f%%" x2="%.2f%%" y1="%d" y2="%d"/><text class="%s" x="%.2f%%" y="%d">%s</text>`, x, x, above+plot, above+plot+4, class, x, height-4, tickLabel(at, d.Step, d.n))
	}
}

func (d *drawing) drawBars() {
	for i := range d.n {
		base := 0.0
		for _, s := range d.Series {
			v := s.Values[i]
			if math.IsNaN(v) || v <= 0 {
				continue
			}
			from, to := d.y(base), d.y(base+v)
			to = min(to, from-1) // one of a thousand can be seen, too
			d.print(`<rect%s x="%.3f%%" width="%.3f%%" y="%.1f" height="%.1f"/>`, d.paint(s.Look), d.x(float64(i)+.1), d.x(.8), to, from-to)
			base += v
		}
	}
}

// drawLines draws a line for each series, with gaps where it has no values. They are
// stretched with the width, so dots, which would be, stand beside them.
func (d *drawing) drawLines() {
	d.print(`<svg viewBox="0 0 100 %d" preserveAspectRatio="none" width="100%%" height="%d">`, height, height)
	for _, s := range d.Series {
		d.print(`<path class="%s" d="`, s.Look)
		command := "M"
		for i, v := range s.Values {
			if math.IsNaN(v) {
				command = "M"
				continue
			}
			d.print("%s%.3f %.1f", command, d.x(float64(i)+.5), d.y(v))
			command = "L"
		}
		d.print(`"/>`)
	}
	d.print(`</svg>`)
	for _, s := range d.Series {
		for i, v := range s.Values {
			if !math.IsNaN(v) && (d.n <= fewPoints || s.isAlone(i)) {
				d.print(`<circle class="%s" cx="%.3f%%" cy="%.1f" r="2.5"/>`, s.Look, d.x(float64(i)+.5), d.y(v))
			}
		}
	}
}

// fewPoints have a dot each.
const fewPoints = 24

// isAlone reports whether no line leads to a value.
func (s *Series) isAlone(i int) bool {
	return (i == 0 || math.IsNaN(s.Values[i-1])) && (i == len(s.Values)-1 || math.IsNaN(s.Values[i+1]))
}

// drawPoints lays something over each step that has numbers; it says them when the
// pointer is on it.
func (d *drawing) drawPoints() {
	for i := range d.n {
		var said []string
		something := false
		for _, s := range d.Series {
			if v := s.Values[i]; !math.IsNaN(v) {
				said = append(said, s.Name+" "+d.Unit.Format(v))
				something = something || v > 0 || d.Lines
			}
		}
		if something {
			d.print(`<rect class="point" x="%.3f%%" width="%.3f%%" y="0" height="%d"><title>%s: %s</title></rect>`, d.x(float64(i)), d.x(1), above+plot,
				Stretch(d.Since.Add(time.Duration(i)*d.Step), d.Step), template.HTMLEscapeString(strings.Join(said, ", ")))
		}
	}
}
