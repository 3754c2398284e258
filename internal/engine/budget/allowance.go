package budget

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/budgets"
)

const (
	shareLife = 10 * time.Second // what is not used by then is forgotten, and nobody counts on it
	storeLife = time.Second      // the same for what is not in calls: those have been stored by then

	// A share is one call's worth, and twice the last one where that was used up at
	// once: up to a fraction of the budget, and of what is left of it, so that nodes
	// do not refuse calls for the sake of each other's shares.
	shareOfAll  = 400
	shareOfRest = 16
	atOnce      = time.Second

	firstGuess = 100 // a call is taken for a hundredth of a budget until one has said what it took

	countEvery = 250 * time.Millisecond // usage, while a budget is drawn on
	emptyFor   = 250 * time.Millisecond // before a budget that was used up is looked at again
	askEvery   = 2 * time.Second
	askAgain   = 15 * time.Second // a caller who is told that the owner was asked
)

// allowance is what this node may still let pass of one budget.
type allowance struct {
	opt    *Options
	budget budgets.Budget
	lock   chan struct{} // held while it is looked into, or filled

	began, ends time.Time // the period; zero = it has not been counted yet
	left        int64     // of the share
	share       int64     // how large it was
	filled      time.Time
	perCall     int64
	spent       int64 // when it was counted
	counted     time.Time
	empty       time.Time // until when there is nothing to draw
	refusal     error     // what callers are told until then
	asked       time.Time
	refused     bool // the owner has said no, for this period
}

func newAllowance(b budgets.Budget, opt *Options) *allowance {
	return &allowance{opt: opt, budget: b, lock: make(chan struct{}, 1), perCall: 1}
}

// take takes what one call is taken for.
func (p *allowance) take(ctx context.Context, by Call) error {
	select {
	case p.lock <- struct{}{}:
		defer func() { <-p.lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := p.opt.Now()
	if !now.Before(p.ends) {
		p.began, p.ends = p.budget.Period.Span(now)
		p.left, p.share, p.counted, p.empty, p.asked, p.refused = 0, 0, time.Time{}, time.Time{}, time.Time{}, false
	}
	if p.left <= 0 || now.Sub(p.filled) >= shareLife {
		if err := p.fill(ctx, now, by); err != nil {
			return err
		}
	}
	p.left -= p.perCall
	return nil
}

func (p *allowance) giveBack() {
	p.lock <- struct{}{}
	p.left += p.perCall
	<-p.lock
}

// fill draws a share, and counts before it refuses: what is drawn is not always
// used.
func (p *allowance) fill(ctx context.Context, now time.Time, by Call) error {
	if now.Before(p.empty) {
		return p.refusal
	}
	if p.counted.IsZero() || p.budget.Unit != budgets.Calls && now.Sub(p.counted) >= countEvery {
		if gone, err := p.count(ctx, now); err != nil || gone {
			return err
		}
	}
	s, err := p.draw(ctx, now)
	if err == nil && s.Took == 0 && p.isWorthCounting(now, &s) {
		if gone, err := p.count(ctx, now); err != nil || gone {
			return err
		}
		s, err = p.draw(ctx, now)
	}
	if err != nil {
		return err
	}
	if s.Took == 0 {
		return p.refuse(ctx, now, by)
	}
	p.left, p.filled = min(p.left, 0)+s.Took, now // the last call may have taken more than there was
	if err := p.warn(ctx, now, &s); err != nil {  // the call is as good as without it
		p.opt.Log.Warn("nobody can be warned of a budget", "budget", p.budget.ID, "err", err)
	}
	return nil
}

// isWorthCounting reports whether less may have been taken than was drawn.
func (p *allowance) isWorthCounting(now time.Time, s *budgets.Standing) bool {
	return now.Sub(s.DrawnAt) >= p.heldFor()
}

// heldFor is how long what was drawn may be under way to what is counted.
func (p *allowance) heldFor() time.Duration {
	if p.budget.Unit == budgets.Calls {
		return shareLife
	}
	return storeLife
}

// count counts what was taken. A budget that is gone holds nobody up until it is no
// longer known.
func (p *allowance) count(ctx context.Context, now time.Time) (gone bool, err error) {
	c, ok, err := p.opt.Table.Count(ctx, &p.budget, now, now.Add(-p.heldFor()))
	if err != nil || !ok {
		return err == nil, err
	}
	p.counted, p.spent, p.perCall = now, c.Spent, c.PerCall
	if p.perCall == 0 {
		p.perCall = max(1, p.budget.Most/firstGuess)
	}
	return false, nil
}

// draw draws a share.
func (p *allowance) draw(ctx context.Context, now time.Time) (budgets.Standing, error) {
	if p.share > 0 && now.Sub(p.filled) < atOnce {
		p.share *= 2
	} else {
		p.share = 0
	}
	p.share = max(p.perCall, min(p.share, p.budget.Most/shareOfAll)) + max(0, -p.left)
	s, ok, err := p.opt.Table.Draw(ctx, p.budget.ID, p.began, now, p.share)
	if err == nil && !ok { // gone, or a node whose clock is ahead has begun the next period
		s.Took = p.perCall
	}
	if rest := (p.budget.Most - s.Drawn) / shareOfRest; p.share > rest {
		p.share = rest
	}
	return s, err
}

// warn tells the log once a period that much of a budget is used up.
func (p *allowance) warn(ctx context.Context, now time.Time, s *budgets.Standing) error {
	at := p.budget.Most * p.budget.WarnAt / 100
	if at == 0 || s.Warned || s.Drawn < at {
		return nil
	}
	c, ok, err := p.opt.Table.Count(ctx, &p.budget, now, now.Add(-p.heldFor()))
	if err != nil || !ok || c.Spent < at {
		return err
	}
	if first, err := p.opt.Table.Warn(ctx, p.budget.ID, p.began); err != nil || !first {
		return err
	}
	p.opt.Log.Warn("a budget is nearly used up", "budget", p.budget.ID, "kind", p.budget.Kind, "subject", p.budget.Subject.ID,
		"unit", p.budget.Unit, "spent", c.Spent, "most", p.budget.Most, "until", p.ends)
	return nil
}

// refuse is the refusal of calls for a moment. The owner is asked if they want to
// be.
func (p *allowance) refuse(ctx context.Context, now time.Time, by Call) error {
	retry, why := p.ends.Sub(now), "is used up; "+until(p.ends)
	switch {
	case p.budget.Unit != budgets.Calls && p.spent < p.budget.Most:
		retry, why = time.Second, "has just enough left for the calls that are under way; try again in a moment"
	case p.budget.Ask && p.opt.Ask != nil:
		if err := p.ask(ctx, now, by); err != nil {
			return err
		}
		if p.refused {
			why = "is used up, and its owner lets no more calls in; " + until(p.ends)
		} else {
			retry, why = askAgain, "is used up; its owner was asked whether calls may go on, so try again in a moment"
		}
	}
	p.refusal, p.empty = exceeded(&p.budget, retry, why), now.Add(emptyFor)
	return p.refusal
}

// ask asks the owner, and finds out what they have said.
func (p *allowance) ask(ctx context.Context, now time.Time, by Call) (err error) {
	if p.refused || now.Sub(p.asked) < askEvery {
		return nil
	}
	if p.refused, err = p.opt.Ask(ctx, &p.budget, by, p.began, p.ends); err == nil {
		p.asked = now
	}
	return err
}
