package wire

import (
	"slices"
	"strconv"

	"github.com/beeos/beeos"
)

// Progress turns deltas and progress reports into notifications/progress,
// whose value must rise with every one.
type Progress struct {
	Token []byte // as the client wrote it; nil = it did not ask
	last  float64
}

func (p *Progress) Notification(ev *beeos.Event) []byte {
	if p.Token == nil {
		return nil
	}
	next := p.last + 1
	if ev.Kind == beeos.EventProgress && ev.Progress > p.last {
		next = ev.Progress
	}
	p.last = next
	b := append(make([]byte, 0, 160+len(ev.Text)), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b = append(b, p.Token...)
	b = append(b, `,"progress":`...)
	b = strconv.AppendFloat(b, next, 'g', -1, 64)
	if ev.Kind == beeos.EventProgress && ev.Total > 0 {
		b = append(b, `,"total":`...)
		b = strconv.AppendFloat(b, ev.Total, 'g', -1, 64)
	}
	b = AppendMember(b, "message", ev.Text)
	return append(b, `}}`...)
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
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`+LogLevels[level]+`"`...)
	b = AppendMember(b, "logger", ev.Logger)
	b = append(b, `,"data":`...)
	if len(ev.Data) == 0 {
		b = append(b, "null"...)
	}
	b = append(b, ev.Data...)
	return append(b, `}}`...)
}

// Notification writes one whose params are tag, a whole member, and params.
func Notification(method string, tag, params []byte) []byte {
	b := append(make([]byte, 0, 96+len(tag)+len(params)), `{"jsonrpc":"2.0","method":"`+method+`"`...)
	if tag == nil && params == nil {
		return append(b, '}')
	}
	b = append(append(b, `,"params":{`...), tag...)
	if tag != nil && params != nil {
		b = append(b, ',')
	}
	return append(append(b, params...), `}}`...)
}
