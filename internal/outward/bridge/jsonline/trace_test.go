package jsonline

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// TestProgramsAreToldTheTrace: on the line of a message that is part of one.
func TestProgramsAreToldTheTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	line, err := NewInput(agent.Message{ID: "m", Trace: beeos.ParseTrace(parent, "a=1")}).Encode()
	if err != nil || !strings.Contains(string(line), `"traceparent":"`+parent+`","tracestate":"a=1"`) {
		t.Errorf("%s, %v", line, err)
	}
	if line, err := NewInput(agent.Message{ID: "m"}).Encode(); err != nil || strings.Contains(string(line), "trace") {
		t.Errorf("%s, %v", line, err)
	}
}
