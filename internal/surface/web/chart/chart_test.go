package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

var (
	noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	none = math.NaN()
)

// element is one of a drawing: its name, attributes and text.
type element struct {
	name, text string
	at         map[string]string
}

// draw draws a chart and reads it as a browser would.
func draw(t *testing.T, c *Chart) (list []*element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(c.SVG())))
	var open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v in %s", err, c.SVG())
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, at: map[string]string{}}
			for _, a := range token.Attr {
				e.at[a.Name.Local] = a.Value
			}
			list, open = append(list, e), append(open, e)
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// pick returns elements by name and class.
func pick(list []*element, name, class string) (found []*element) {
	for _, e := range list {
		if e.name == name && strings.Contains(" "+e.at["class"]+" ", " "+class+" ") {
			found = append(found, e)
		}
	}
	return found
}

func texts(list []*element) string {
	var all []string
	for _, e := range list {
		all = append(all, e.text)
	}
	return strings.Join(all, "|")
}

func TestBars(t *testing.T) {
	c := &Chart{
		ID: "calls", Words: `Calls <of> "today"`, Unit: Count, Since: noon, Step: 15 * time.Minute,
		Series: []Series{{"went wrong", Bad, []float64{0, 1, 0, 0}}, {"went well", Solid, []float64{10, 19, none, 0}}},
	}
	list := draw(t, c)
	if svg := list[0]; svg.at["role"] != "img" || svg.at["aria-label"] != c.Words {
		t.Errorf("the drawing is %v", svg.at)
	}
	if got := texts(pick(list, "text", "value")); got != "0|5|10|15|20" {
		t.Error("the scale is", got)
	}
	if got := texts(pick(list, "text", "time")); got != "12:00|12:10|12:20|12:30|12:40|12:50" {
		t.Error("the times are", got)
	}
	var bars []string
	for _, e := range append(pick(list, "rect", "bad"), pick(list, "rect", "solid")...) {
		bars = append(bars, fmt.Sprint(e.at["x"], " ", e.at["y"], "+", e.at["height"], " ", e.at["fill"]))
	}
	// 120 pixels for 20 calls, from 128 up; the one that went wrong is below the others.
	if got, want := strings.Join(bars, "\n"), "27.500% 122.0+6.0 url(#calls-bad)\n2.500% 68.0+60.0 \n27.500% 8.0+114.0 "; got != want {
		t.Errorf("the bars are\n%s\nwant\n%s", got, want)
	}
	var said []string
	for _, e := range list {
		if e.name == "title" {
			said = append(said, e.text)
		}
	}
	if got, want := strings.Join(said, "\n"), "5 Mar 12:00–12:15: went wrong 0, went well 10\n5 Mar 12:15–12:30: went wrong 1, went well 19"; got != want {
		t.Errorf("it says\n%s", got)
	}
	if n := len(pick(list, "pattern", "bad")); n != 1 {
		t.Errorf("%d patterns", n)
	}
	if key := c.Key(c.Series[0]); !strings.Contains(string(key), `fill="url(#calls-bad)"`) {
		t.Error(key)
	}
}

// TestSmallBarsAreSeen: one of a million.
func TestSmallBarsAreSeen(t *testing.T) {
	c := &Chart{ID: "x", Unit: Count, Since: noon, Step: time.Hour, Series: []Series{{"bad", Bad, []float64{1}}, {"good", Solid, []float64{999_999}}}}
	if bar := pick(draw(t, c), "rect", "bad")[0]; bar.at["height"] != "1.0" {
		t.Errorf("it is %v", bar.at)
	}
}

// TestLines: gaps stay gaps, and what stands alone has a dot.
func TestLines(t *testing.T) {
	many := make([]float64, 40)
	for i := range many {
		many[i] = none
	}
	many[0], many[1], many[3] = .1, .2, .4
	c := &Chart{ID: "took", Unit: Seconds, Since: noon, Step: time.Hour, Lines: true, Series: []Series{{"p95", Solid, many}, {"p50", Second, make([]float64, 40)}}}
	list := draw(t, c)
	if got, want := pick(list, "path", "solid")[0].at["d"], "M1.250 98.0L3.750 68.0M8.750 8.0"; got != want {
		t.Errorf("the line is %s, want %s", got, want)
	}
	if dots := pick(list, "circle", "solid"); len(dots) != 1 || dots[0].at["cx"] != "8.750%" || dots[0].at["cy"] != "8.0" {
		t.Errorf("%d dots", len(dots))
	}
	if got := texts(pick(list, "text", "value")); got != "0|100 ms|200 ms|300 ms|400 ms" {
		t.Error("the scale is", got)
	}
	c.Series[0].Values, c.Series[1].Values = many[:5], many[:5]
	if dots := pick(draw(t, c), "circle", "second"); len(dots) != 3 {
		t.Errorf("of few values %d have a dot", len(dots))
	}
	if key := c.Key(c.Series[1]); !strings.Contains(string(key), `<path class="second"`) {
		t.Error(key)
	}
}

func TestEmptyChartIsSound(t *testing.T) {
	for _, c := range []*Chart{{Unit: Count, Since: noon, Step: time.Hour}, {Unit: Share, Lines: true, Since: noon, Step: time.Hour, Series: []Series{{"x", Bad, []float64{none, 0}}}}} {
		if strings.Contains(string(c.SVG()), "NaN") {
			t.Error(c.SVG())
		}
		draw(t, c)
	}
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		unit    Unit
		highest float64
		want    string
	}{
		{Count, 0, "0 1"},
		{Count, 1, "0 1"},
		{Count, 4, "0 1 2 3 4"},
		{Count, 5, "0 2 4 6"},
		{Count, 96, "0 50 100"},
		{Count, 101, "0 50 100 150"},
		{Count, 1300, "0 500 1k 1.5k"},
		{Count, 3_700_000, "0 1M 2M 3M 4M"},
		{Count, 41e9, "0 20G 40G 60G"},
		{Share, 0, "0 % 1 %"},
		{Share, .034, "0 % 1 % 2 % 3 % 4 %"},
		{Share, 1, "0 % 25 % 50 % 75 % 100 %"},
		{Seconds, .0031, "0 1 ms 2 ms 3 ms 4 ms"},
		{Seconds, .42, "0 200 ms 400 ms 600 ms"},
		{Seconds, 3, "0 1 s 2 s 3 s"},
		{Seconds, 50, "0 15 s 30 s 45 s 60 s"},
		{Seconds, 262, "0 2 min 4 min 6 min"},
		{Seconds, 7200, "0 50 min 100 min 150 min"},
		{Dollars, .00031, "$0 $0.0001 $0.0002 $0.0003 $0.0004"},
		{Dollars, .09, "$0 $0.05 $0.10"},
		{Dollars, .7, "$0 $0.20 $0.40 $0.60 $0.80"},
		{Dollars, .0031, "$0 $0.001 $0.002 $0.003 $0.004"},
		{Dollars, 13, "$0 $5 $10 $15"},
		{Dollars, 4321, "$0 $2,000 $4,000 $6,000"},
	} {
		s := c.unit.top(c.highest)
		var labels []string
		for i := range s.steps + 1 {
			labels = append(labels, c.unit.axis(s.step*float64(i), s.step))
		}
		if got := strings.Join(labels, " "); got != c.want || s.max() < c.highest {
			t.Errorf("up to %v: %q, want %q", c.highest, got, c.want)
		}
	}
}

func TestNumbersInFull(t *testing.T) {
	for got, want := range map[string]string{
		Count.Format(1234567): "1,234,567", Share.Format(.004): "0.4 %", Share.Format(.5): "50 %", Share.Format(0): "0 %", Seconds.Format(.0421): "42 ms", Seconds.Format(90): "1m30s", Dollars.Format(.0012): "$0.0012", Dollars.Format(12.5): "$12.50",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTimes: those below a chart are full ones, and few enough to be read.
func TestTimes(t *testing.T) {
	at := time.Date(2026, 3, 5, 20, 45, 0, 0, time.UTC)
	for _, c := range []struct {
		step time.Duration
		n    int
		want string
	}{
		{5 * time.Minute, 12, "20:50 21:00 21:10 21:20 21:30 21:40"},
		{15 * time.Minute, 96, "00:00 04:00 08:00 12:00 16:00 20:00"},
		{2 * time.Hour, 84, "Fri 6 Sat 7 Sun 8 Mon 9 Tue 10 Wed 11 Thu 12"},
		{24 * time.Hour, 30, "Fri 6 Wed 11 Mon 16 Sat 21 Thu 26 Tue 31"},
	} {
		var labels []string
		for _, tick := range ticks(at, c.step, c.n) {
			labels = append(labels, tickLabel(tick, c.step, c.n))
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%d steps of %v: %s, want %s", c.n, c.step, got, c.want)
		}
	}
}
