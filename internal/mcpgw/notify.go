package mcpgw

import (
	"strconv"

	"github.com/beeos/beeos"
)

// progress turns deltas and progress reports into notifications/progress,
// whose value must rise with every one.
type progress struct {
	token []byte // as the client wrote it; nil = it did not ask
	last  float64
}

func (p *progress) notification(ev *beeos.Event) []byte {
	if p.token == nil {
		return nil
	}
	next := p.last + 1
	if ev.Kind == beeos.EventProgress && ev.Progress > p.last {
		next = ev.Progress
	}
	p.last = next
	b := append(make([]byte, 0, 160+len(ev.Text)), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b = append(b, p.token...)
	b = append(b, `,"progress":`...)
	b = strconv.AppendFloat(b, next, 'g', -1, 64)
	if ev.Kind == beeos.EventProgress && ev.Total > 0 {
		b = append(b, `,"total":`...)
		b = strconv.AppendFloat(b, ev.Total, 'g', -1, 64)
	}
	b = appendMember(b, "message", ev.Text)
	return append(b, `}}`...)
}

// logLevels are the words that MCP has.
var logLevels = map[string]bool{
	"debug": true, "info": true, "notice": true, "warning": true,
	"error": true, "critical": true, "alert": true, "emergency": true,
}

func logNotification(ev *beeos.Event) []byte {
	level := ev.Level
	if !logLevels[level] {
		level = "info"
	}
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`+level+`"`...)
	b = appendMember(b, "logger", ev.Logger)
	b = append(b, `,"data":`...)
	if len(ev.Data) == 0 {
		b = append(b, "null"...)
	}
	b = append(b, ev.Data...)
	return append(b, `}}`...)
}
