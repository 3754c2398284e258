package notify

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
)

const (
	atOnce     = 500 // news that are looked at in one round; the next one goes on
	pruneEvery = time.Hour
	keepSent   = 30 * 24 * time.Hour // how long deliveries can be looked up
)

// runWatch puts what channels have not been told into their outboxes.
func (n *Notifier) runWatch(ctx context.Context) error {
	tick := time.NewTicker(n.opt.Every)
	defer tick.Stop()
	var pruned time.Time
	for {
		err := database.Within(ctx, n.tellNews)
		if now := n.opt.Now(); err == nil && now.Sub(pruned) > pruneEvery {
			pruned = now
			err = n.opt.Table.Prune(ctx, now.Add(-keepSent))
		}
		if err != nil && ctx.Err() == nil {
			n.opt.Log.ErrorContext(ctx, "look for what channels are to be told", "err", err)
		}
		select {
		case <-n.wake:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// tellNews tells of approvals that wait, also once more when half of their time is
// over, and of those that ended.
func (n *Notifier) tellNews(ctx context.Context) error {
	asked, err := n.opt.Table.ListUntold(ctx, n.opt.Now(), atOnce)
	if err = tellEach(ctx, asked, err, n.tellAsked); err != nil {
		return err
	}
	again, err := n.opt.Table.ListToRemind(ctx, n.opt.Now(), atOnce)
	if err = tellEach(ctx, again, err, n.tellAgain); err != nil {
		return err
	}
	ended, err := n.opt.Table.ListEnded(ctx, atOnce)
	return tellEach(ctx, ended, err, n.tellEnded)
}

func tellEach(ctx context.Context, list []notifications.News, err error, tell func(context.Context, notifications.News) error) error {
	for _, news := range list {
		if err := tell(ctx, news); err != nil {
			return err
		}
	}
	return err
}

func (n *Notifier) tellAsked(ctx context.Context, news notifications.News) error {
	d, a, err := n.describe(ctx, news.Approval)
	if err != nil || d == nil || !a.Open() { // decided this moment: nothing was told, so nothing is to be
		return err
	}
	now, half := n.opt.Now(), a.CreatedAt.Add(a.ExpiresAt.Sub(a.CreatedAt)/2)
	if half.Before(now) {
		half = time.Time{} // who hears of it so late is not reminded
	}
	return n.wakeIf(n.opt.Table.TellAsked(ctx, news, *d, half, now))
}

func (n *Notifier) tellAgain(ctx context.Context, news notifications.News) error {
	a, err := n.opt.Approvals.Table.Get(ctx, news.Approval)
	if beeos.CodeOf(err) == beeos.NotFound || err == nil && (!a.Open() || !a.ExpiresAt.After(n.opt.Now())) { // that is told next
		return n.wakeIf(n.opt.Table.TellAgain(ctx, news, nil, n.opt.Now()))
	}
	if err != nil {
		return err
	}
	st, err := n.opt.Approvals.Standings(ctx, &beeos.User{ID: news.Channel.OwnerID}, []approvals.Approval{a})
	if err != nil {
		return err
	}
	if st[0].Voted || !st[0].MayDecide { // it is for others to decide
		return n.wakeIf(n.opt.Table.TellAgain(ctx, news, nil, n.opt.Now()))
	}
	e := n.newEvent(ctx, a)
	e.Type, e.Timestamp = ApprovalReminder, n.opt.Now().UTC()
	d, err := newDelivery(e)
	if err != nil {
		return err
	}
	return n.wakeIf(n.opt.Table.TellAgain(ctx, news, &d, n.opt.Now()))
}

func (n *Notifier) tellEnded(ctx context.Context, news notifications.News) error {
	d, _, err := n.describe(ctx, news.Approval)
	if err != nil {
		return err
	}
	return n.wakeIf(n.opt.Table.TellEnded(ctx, news, d, n.opt.Now()))
}

func (n *Notifier) wakeIf(told bool, err error) error {
	if told {
		n.courier.Wake()
	}
	return err
}

// describe is what is to be said about an approval as it stands; nil = it has been
// forgotten.
func (n *Notifier) describe(ctx context.Context, id string) (*outbox.Delivery, approvals.Approval, error) {
	a, err := n.opt.Approvals.Table.Get(ctx, id)
	if beeos.CodeOf(err) == beeos.NotFound {
		return nil, a, nil
	}
	if err != nil {
		return nil, a, err
	}
	d, err := newDelivery(n.newEvent(ctx, a))
	return &d, a, err
}
