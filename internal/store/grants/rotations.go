package grants

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Rotation replaces the good token of a chain by its successor.
type Rotation struct {
	FamilyID  string
	Token     []byte // the one that is presented
	Successor []byte
	At        time.Time
	ExpiresAt time.Time
}

const rotate = `UPDATE oauth_families SET previous = token, token = $3, generation = generation + 1, rotated_at = $4, expires_at = $5
	WHERE id = $1 AND token = $2`

// Rotate reports whether r won: its token was the good one. The answer comes
// after the commit; a rotation whose caller has left is not made later, where it
// would look like a theft to the next try.
func (tb *Table) Rotate(ctx context.Context, r Rotation) (won bool, err error) {
	return tb.rotations.Change(ctx, r.FamilyID, r.FamilyID, r.Token, r.Successor, database.Micros(r.At), database.Micros(r.ExpiresAt))
}
