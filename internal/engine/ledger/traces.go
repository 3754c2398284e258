package ledger

import (
	"context"
	"strings"

	"github.com/beeos/beeos/internal/store/database"
)

// semicolon stands for one in the trace of a trail, where they end words. No
// header has it.
const semicolon = "\t"

// traceWord is a trace as it stands in the trail of a request that has ended.
func traceWord(trace string) string {
	if trace == "" {
		return ""
	}
	return "t " + strings.ReplaceAll(trace, ";", semicolon) + ";"
}

// Trace returns the trace that a request is part of, as its Delivery has it or had
// it; "" = none is known.
func (l *Ledger) Trace(ctx context.Context, turn string) (string, error) {
	// The delivery first: a reply that comes in between is then found, too.
	trace, err := database.GetValue[string](ctx, l.db, "read the trace of a request", `SELECT COALESCE(MAX(trace), '') FROM deliveries WHERE turn = $1`, turn)
	if err != nil || trace != "" {
		return trace, err
	}
	trail, err := database.GetValue[string](ctx, l.db, "read the trace of a reply", `SELECT COALESCE(MAX(trail), '') FROM messages WHERE terminal AND in_reply_to = $1`, turn)
	for word := range strings.SplitSeq(trail, ";") {
		if kept, ok := strings.CutPrefix(word, "t "); ok {
			return strings.ReplaceAll(kept, semicolon, ";"), nil
		}
	}
	return "", err
}
