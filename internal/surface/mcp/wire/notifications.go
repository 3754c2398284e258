package wire

import (
	"fmt"
	"math"
	"slices"

	"github.com/beeos/beeos"
)

// Progress turns deltas and progress reports into notifications/progress,
// whose value must rise with every one and never passes its total.
type Progress struct {
	Token []byte // as the client wrote it; nil = it did not ask
	last  float64
	total float64 // that the agent works towards; 0 = none that could be shown
}

// stepsLeft is how many deltas share what is left up to the total, roughly:
// each takes one part of what then remains.
const stepsLeft = 10_000

func (p *Progress) Notification(ev *beeos.Event) []byte {
	if p.Token == nil {
		return nil
	}
	p.advance(ev)
	params := fmt.Appendf(nil, `"progressToken":%s,"progress":%g`, p.Token, p.last)
	if p.total > 0 {
		params = fmt.Appendf(params, `,"total":%g`, p.total)
	}
	return Notification("notifications/progress", nil, AppendMember(params, "message", ev.Text))
}

// advance finds the next value. Deltas count one by one until the agent names a
// total; from then on they move a little of the way that is left, so that they
// neither pass the total nor overtake the agent's own reports by much.
func (p *Progress) advance(ev *beeos.Event) {
	report := ev.Kind == beeos.EventProgress
	if report && ev.Total > 0 {
		p.total = ev.Total
	}
	if p.last > p.total {
		p.total = 0 // what was counted so far has passed it already
	}
	left := p.total - p.last
	switch {
	case report && ev.Progress > p.last && (p.total == 0 || ev.Progress <= p.total):
		p.last = ev.Progress
	case left > 0:
		p.last = max(p.last+min(1, left/stepsLeft), math.Nextafter(p.last, p.total))
	case p.total > 0: // there was more to come than the agent thought
		p.last++
		p.total = p.last
	default:
		p.last++
	}
}

// LogLevels are the words that MCP has, from chatter to disaster.
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

const infoLevel = 1

// LogNotification returns nil for a message below the level.
func LogNotification(ev *beeos.Event, from int) []byte {
	level := slices.Index(LogLevels, ev.Level)
	if level < 0 {
		level = infoLevel
	}
	if level < from {
		return nil
	}
	params := AppendMember([]byte(`"level":"`+LogLevels[level]+`"`), "logger", ev.Logger)
	data := ev.Data
	if len(data) == 0 {
		data = []byte("null")
	}
	return Notification("notifications/message", nil, fmt.Appendf(params, `,"data":%s`, data))
}

// Notification writes one whose params are tag, a whole member, and params.
func Notification(method string, tag, params []byte) []byte {
	if tag == nil && params == nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s"}`, method)
	}
	comma := ""
	if tag != nil && params != nil {
		comma = ","
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":{%s%s%s}}`, method, tag, comma, params)
}
