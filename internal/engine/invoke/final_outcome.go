package invoke

import (
	"strings"

	"github.com/beeos/beeos"
)

const finalOutcome = "This is final: the same idempotency key (over A2A, the messageId) always gets it. Use another key to ask again."

// FinalOutcome is the stored reply of a request as a repeat under its
// idempotency key is told it. That an agent was lost or out of time looks like
// something to try again, and so it is for the first caller. Under the key it
// never changes: a repeat is told a failure like any other, and how to ask anew.
func FinalOutcome(m *beeos.Message) *beeos.Message {
	if !m.IsError() || m.StopReason != beeos.StopAgentLost && m.StopReason != beeos.StopTimeout {
		return m
	}
	final := *m
	final.StopReason = beeos.StopError
	final.Body = strings.TrimSpace(m.Body + " " + finalOutcome)
	return &final
}
