package files

import (
	"context"
	"time"
)

func (tb *Table) KeepFile(ctx context.Context, id string, until time.Time) error {
	return tb.keepFile(ctx, id, until)
}
