package budget

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/store/database"
)

// readEvery is how soon a budget counts that another process has set without
// telling anybody.
const readEvery = 30 * time.Second

// readWithin bounds a look at budgets, which calls wait for.
const readWithin = 10 * time.Second

// Budgets knows which budgets there are.
type Budgets struct {
	opt Options

	known   atomic.Pointer[map[budgets.Subject][]*allowance] // nil = not read yet
	changed atomic.Bool                                      // since they were read
	reading sync.Mutex
}

// New returns the budgets of this node; Run must be running for changes to be seen
// that nobody tells of.
func New(opt Options) *Budgets {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Budgets{opt: opt}
}

// Run reads budgets anew now and then, until ctx ends.
func (b *Budgets) Run(ctx context.Context) error {
	if b.opt.Table == nil {
		return nil
	}
	round := func(ctx context.Context) error {
		_, err := b.read(ctx)
		return err
	}
	return database.Every(ctx, readEvery, round, func(err error) {
		b.opt.Log.Error("read budgets; those of before go on", "err", err)
	})
}

// Changed says that somebody has changed budgets: the next call reads them.
func (b *Budgets) Changed() { b.changed.Store(true) }

// find returns the budgets that are known, or reads them the first time and after a
// change.
func (b *Budgets) find(ctx context.Context) (map[budgets.Subject][]*allowance, error) {
	if known := b.known.Load(); known != nil && !b.changed.Load() {
		return *known, nil
	}
	if b.opt.Table == nil {
		return nil, nil
	}
	return b.read(ctx)
}

// read reads all budgets. An allowance whose budget is as it was stays.
func (b *Budgets) read(ctx context.Context) (map[budgets.Subject][]*allowance, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	b.changed.Store(false) // what changes from here on is read again
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	list, err := b.opt.Table.List(ctx, "")
	if err != nil {
		b.changed.Store(true)
		return nil, err
	}
	old := map[budgets.Budget]*allowance{}
	if known := b.known.Load(); known != nil {
		for _, list := range *known {
			for _, p := range list {
				old[p.budget] = p
			}
		}
	}
	known := map[budgets.Subject][]*allowance{}
	for _, row := range list {
		p := old[row]
		if p == nil {
			p = newAllowance(row, &b.opt)
		}
		known[row.Subject] = append(known[row.Subject], p)
	}
	b.known.Store(&known)
	return known, nil
}
