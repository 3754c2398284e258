package wire

import (
	"encoding/json"
	"testing"

	"github.com/beeos/beeos"
)

// TestProgressRisesWithinItsTotal: in whichever order deltas and reports come,
// every value is higher than the one before it, and none passes its total.
func TestProgressRisesWithinItsTotal(t *testing.T) {
	delta := func(n int) (list []beeos.Event) {
		for range n {
			list = append(list, beeos.Event{Kind: beeos.EventDelta, Text: "x"})
		}
		return list
	}
	report := func(progress, total float64) beeos.Event {
		return beeos.Event{Kind: beeos.EventProgress, Progress: progress, Total: total}
	}
	for name, events := range map[string][]beeos.Event{
		"deltas after the end":         append([]beeos.Event{report(100, 100)}, delta(50)...),
		"more deltas than steps":       append([]beeos.Event{report(99, 100)}, delta(100_000)...),
		"deltas, then reports":         append(delta(200), report(1, 100), report(50, 100), report(100, 100)),
		"a few deltas, then reports":   append(delta(5), report(3, 100), report(4, 100), report(50, 100)),
		"in turns":                     append(append([]beeos.Event{report(1, 3)}, delta(20)...), report(2, 3), delta(1)[0], report(3, 3)),
		"the same report again":        {report(1, 1), report(1, 1), report(1, 1)},
		"a report above its own total": {report(150, 100), report(151, 100)},
		"a total that shrinks":         {report(50, 100), report(51, 10), report(9, 10)},
		"small numbers":                append([]beeos.Event{report(0.1, 1e-3), report(1e-4, 1e-3)}, delta(10)...),
		"large numbers":                append([]beeos.Event{report(1e15, 1e16)}, delta(10)...),
	} {
		p, last := Progress{Token: []byte("1")}, 0.0
		for i := range events {
			var sent struct {
				Params struct{ Progress, Total float64 }
			}
			msg := p.Notification(&events[i])
			if err := json.Unmarshal(msg, &sent); err != nil {
				t.Fatalf("%s: %s: %v", name, msg, err)
			}
			if now := sent.Params.Progress; now <= last || sent.Params.Total > 0 && now > sent.Params.Total {
				t.Fatalf("%s, event %d, after %v: %s", name, i, last, msg)
			}
			last = sent.Params.Progress
		}
	}
	p := Progress{Token: []byte("1")}
	for _, ev := range append(delta(3), report(50, 100)) {
		p.Notification(&ev)
	}
	if p.last != 50 || p.total != 100 {
		t.Errorf("a report that fits is told as it is, not %v of %v", p.last, p.total)
	}
}
