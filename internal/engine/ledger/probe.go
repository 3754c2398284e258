package ledger

import (
	"context"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// probeFor is how long an answer of Ready holds: strangers may ask as often as
// they like, and are not to fill the disk with questions.
const probeFor = time.Second

// probe remembers whether the ledger took a write a moment ago.
type probe struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// Ready reports why a request would not be stored now; nil when it would. It
// really writes: a disk that is full, or a database that only reads, answers
// every other question as usual.
func (l *Ledger) Ready(ctx context.Context) error {
	l.probe.mu.Lock()
	defer l.probe.mu.Unlock()
	if now := l.opt.Now(); now.Sub(l.probe.at) >= probeFor {
		err := l.runInWriter(ctx, writeAndErase)
		if ctx.Err() != nil && err != nil {
			return err // whoever asks next may have more patience
		}
		l.probe.at, l.probe.err = now, err
	}
	return l.probe.err
}

// writeAndErase leaves nothing but a commit that had something to write.
func writeAndErase(ctx context.Context, b *batch) error {
	k := &Idempotency{Scope: "ready", Key: beeos.NewID(), Fingerprint: []byte{}, Expires: time.UnixMicro(b.now)}
	if _, _, err := b.claimKey(ctx, k, "", ""); err != nil {
		return err
	}
	return b.releaseKey(ctx, k)
}
