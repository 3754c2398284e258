package act

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
)

// record writes the row about an act into the trail of whom it concerns.
func (a *Acts) record(ctx context.Context, c beeos.Caller, ownerID string, action, subject string, detail map[string]string) {
	row := audit.Row{OwnerID: ownerID, At: a.Now(), Actor: actorOf(c), Action: action, Subject: subject, Detail: detail}
	a.DB.Audit.Record(ctx, a.Log, row)
}

// actorOf is how the trail names a caller.
func actorOf(c beeos.Caller) string {
	if c.Kind == beeos.ByOperator {
		return operator
	}
	return c.Principal()
}
