package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Delivery is a request on its way to an agent. While it is leased somebody
// is answerable for it; a lease that runs out goes to somebody else.
type Delivery struct {
	Turn       string
	Channel    string
	Offset     int64
	AgentID    string
	Lane       string // at most one of a lane is leased; empty = no lane
	Attempt    int
	Started    bool // the agent has shown a sign of work on it
	Mode       beeos.DeliveryMode
	Redelivery beeos.Redelivery
	Leased     bool
	LeaseUntil time.Time
	Deadline   time.Time         // then the request ends as timed out; zero = never
	Paused     beeos.MessageType // what the agent waits for; empty = nothing
	CancelAt   time.Time         // when its end was asked for; zero = it was not
	Trail      string            // how it went so far
	Trace      string            // where it stands in a distributed trace; opaque here, empty = in none
}

// Lease names one attempt at a delivery, so that a holder who has lost it
// cannot touch its successor's.
type Lease struct {
	Turn    string
	Attempt int
}

const deliveryColumns = `turn, channel, off, agent_id, lane, attempt, started, mode, redelivery, leased, lease_until, deadline, paused, cancel_at, trail, trace`

func deliveryFields(d *Delivery) []any {
	return []any{
		&d.Turn, &d.Channel, &d.Offset, &d.AgentID, &d.Lane, &d.Attempt, &d.Started, &d.Mode, &d.Redelivery,
		&d.Leased, database.Time(&d.LeaseUntil), database.Time(&d.Deadline), &d.Paused, database.Time(&d.CancelAt),
		&d.Trail, &d.Trace,
	}
}

// endPauses ends the pauses that messages answer. One that comes second is refused:
// its offset stays a hole.
func (b *batch) endPauses(ctx context.Context) error {
	for _, o := range b.ops {
		if o.answers == "" || o.err != nil {
			continue
		}
		o.err = errNotAsked
		err := b.w.query(ctx, `UPDATE deliveries SET paused = '' WHERE turn = $1 AND leased AND paused = $2 RETURNING turn`,
			[]any{o.message.InReplyTo, string(o.answers)}, func(database.Row) error { o.err = nil; return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

var errNotAsked = beeos.Errorf(beeos.Conflict, "the request does not wait for this any more; look at it again before you go on")

// runInWriter runs f inside the writer's next transaction.
func (l *Ledger) runInWriter(ctx context.Context, f func(context.Context, *batch) error) error {
	return l.writers[0].submit(ctx, &op{do: f})
}

// skipLocked keeps lease updates from waiting for the rows that a terminal
// batch of another node holds: together they would deadlock.
func (b *batch) skipLocked() string {
	if b.w.l.db.Postgres {
		return ` FOR UPDATE SKIP LOCKED`
	}
	return ``
}

// anyOf selects what a query finds. PostgreSQL, which cannot know how little that
// is, would rather compare it with the whole table, unless it is an array.
func (b *batch) anyOf(query string) string {
	if b.w.l.db.Postgres {
		return `= ANY(ARRAY(` + query + `))`
	}
	return `IN (` + query + `)`
}

// perLease runs update over the leases in chunks; update has %s where the
// selection of rows goes. It returns how many there were.
func (b *batch) perLease(ctx context.Context, update string, leases []Lease, head ...any) (changed int, err error) {
	row := `(?, CAST(? AS BIGINT))`
	s := newStatement(``, row, ``)
	for len(leases) > 0 {
		n := min(len(leases), maxRows)
		values := append([]any(nil), head...)
		for _, le := range leases[:n] {
			values = append(values, le.Turn, le.Attempt)
		}
		list := s.from(n, len(head)+1)
		text := fmt.Sprintf(update, `SELECT turn FROM deliveries WHERE leased AND (turn, attempt) IN (VALUES `+list+`)`+b.skipLocked())
		done, err := b.w.changeOnce(ctx, text, values...)
		if err != nil {
			return 0, err
		}
		leases, changed = leases[n:], changed+int(done)
	}
	return changed, nil
}

// ExtendLeases moves leases forward.
func (l *Ledger) ExtendLeases(ctx context.Context, leases []Lease, until time.Time) error {
	if len(leases) == 0 {
		return nil
	}
	return l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		_, err := b.perLease(ctx, `UPDATE deliveries SET lease_until = $1 WHERE turn IN (%s)`, leases, database.Micros(until))
		return err
	})
}

// ReleaseLeases gives leases back: another instance may take the work at once.
// Of the attempt that is over, only why and who are looked at.
func (l *Ledger) ReleaseLeases(ctx context.Context, leases []Lease, over Attempt) error {
	if len(leases) == 0 {
		return nil
	}
	return l.releaseLeases(ctx, ``, leases, func(b *batch) int64 { return b.now }, &over)
}

// releaseLeases releases the leases that are as if says, and tells how many.
func (l *Ledger) releaseLeases(ctx context.Context, as string, leases []Lease, at func(*batch) int64, over *Attempt) error {
	lost := 0
	err := l.runInWriter(ctx, func(ctx context.Context, b *batch) (err error) {
		lost, err = b.releaseLeases(ctx, as, leases, at(b), over)
		return err
	})
	if err == nil && lost > 0 {
		l.opt.Lost(over.Why, lost)
	}
	return err
}

func (b *batch) releaseLeases(ctx context.Context, as string, leases []Lease, now int64, over *Attempt) (released int, err error) {
	end := fmt.Sprintf(" %s %s %s;", over.Why, trailWord(over.Node), trailWord(over.Instance))
	return b.perLease(ctx, `UPDATE deliveries SET leased = FALSE, lease_until = $1, `+appendTrail(`'r' || attempt || ' ' || ($1 - seq) || CAST($2 AS TEXT)`)+
		` WHERE `+as+`turn IN (%s)`, leases, now, end)
}

// PassOn lets others have the work of a node that died. How long its agent may stay
// away before the requests are given up still counts from when their leases end.
func (l *Ledger) PassOn(ctx context.Context, leases []Lease, over Attempt) error {
	if len(leases) == 0 {
		return nil
	}
	lost := 0
	err := l.runInWriter(ctx, func(ctx context.Context, b *batch) (err error) {
		end := fmt.Sprintf(" %s %s %s;", over.Why, trailWord(over.Node), trailWord(over.Instance))
		lost, err = b.perLease(ctx, `UPDATE deliveries SET leased = FALSE, `+appendTrail(`'r' || attempt || ' ' || (CAST($1 AS BIGINT) - seq) || CAST($2 AS TEXT)`)+` WHERE turn IN (%s)`, leases, b.now, end)
		return err
	})
	if err == nil && lost > 0 {
		l.opt.Lost(over.Why, lost)
	}
	return err
}

// UndoClaim gives leases back as if they had never been taken: nobody got the work.
func (l *Ledger) UndoClaim(ctx context.Context, leases []Lease) error {
	return l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		_, err := b.perLease(ctx, `UPDATE deliveries SET leased = FALSE, attempt = attempt - 1, lease_until = $1 WHERE turn IN (%s)`, leases, b.now)
		return err
	})
}

// ResumeDelivery gives a request back to the instance that never stopped to work on
// it, under a lease that follows the one in d. ok is false when somebody else
// was faster or another of its lane is out.
func (l *Ledger) ResumeDelivery(ctx context.Context, d *Delivery, until time.Time) (lease Lease, ok bool, err error) {
	given := false
	err = l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		given = false
		return b.w.query(ctx, `UPDATE deliveries SET leased = TRUE, attempt = attempt + 1, lease_until = $3, `+appendTrail(`'w' || (attempt + 1) || ' ' || ($4 - seq) || ';'`)+`
			WHERE turn IN (SELECT turn FROM deliveries WHERE turn = $1 AND attempt = $2`+b.skipLocked()+`) AND (lane = '' OR NOT EXISTS (SELECT 1 FROM deliveries x WHERE x.lane = deliveries.lane AND x.lane <> '' AND x.leased AND x.turn <> deliveries.turn))
			RETURNING turn`, []any{d.Turn, d.Attempt, database.Micros(until), b.now}, func(database.Row) error {
			given = true
			return nil
		})
	})
	if err != nil {
		return Lease{}, false, err // given may still be the writer's
	}
	if given {
		l.opt.Redelivered(Resumed, 1)
	}
	return Lease{Turn: d.Turn, Attempt: d.Attempt + 1}, given, nil
}

// MarkStarted notes that the agent has begun to work on the request.
func (l *Ledger) MarkStarted(ctx context.Context, turn string) error {
	return l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `UPDATE deliveries SET started = TRUE WHERE turn = $1`, turn)
	})
}

// Final reports whether the agent does not want the request a second time: it
// waits for the reply of the instance that has it, wherever that is now.
func (d *Delivery) Final() bool {
	return d.Attempt > 0 && (d.Redelivery == beeos.RedeliverNever || d.Redelivery == beeos.RedeliverBeforeStart && d.Started)
}

// ClaimDeliveries leases what waits for the agent and is not Final, oldest first, at
// most limit, and per lane only the first while none of the lane is leased. Two
// writers can give out one seq twice, so the turn decides then. The indexes by
// lane leave out the empty one, so each look at them has to say so, too.
func (l *Ledger) ClaimDeliveries(ctx context.Context, agentID string, until time.Time, limit int) ([]Delivery, error) {
	var claimed []Delivery
	err := l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		claimed = claimed[:0]
		seq := map[string]int64{}
		if b.w.l.db.Postgres {
			// One claimer per agent at a time, and the pick in a statement of
			// its own so that it sees what the one before committed.
			if err := b.w.exec(ctx, `SELECT 1 FROM agents WHERE id = $1 FOR UPDATE`, agentID); err != nil {
				return err
			}
		}
		err := b.w.query(ctx, `UPDATE deliveries SET leased = TRUE, attempt = attempt + 1, lease_until = $2, paused = '', `+appendTrail(`'c' || (attempt + 1) || ' ' || ($4 - seq) || ';'`)+` WHERE turn `+b.anyOf(`
			SELECT turn FROM deliveries d WHERE agent_id = $1 AND NOT leased AND cancel_at = 0
			AND (attempt = 0 OR NOT (redelivery = 'never' OR redelivery = 'before_start' AND started)) AND (lane = '' OR (
				NOT EXISTS (SELECT 1 FROM deliveries x WHERE x.lane = d.lane AND x.lane <> '' AND x.leased)
				AND NOT EXISTS (SELECT 1 FROM deliveries x WHERE x.lane = d.lane AND x.lane <> '' AND NOT x.leased AND (x.seq, x.turn) < (d.seq, d.turn))))
			ORDER BY seq, turn LIMIT $3`+b.skipLocked())+`
			RETURNING `+deliveryColumns+`, seq`, []any{agentID, database.Micros(until), limit, b.now}, func(r database.Row) error {
			var d Delivery
			var n int64
			err := r.Scan(append(deliveryFields(&d), &n)...)
			claimed, seq[d.Turn] = append(claimed, d), n
			return err
		})
		// What an update returns is in no order.
		slices.SortFunc(claimed, func(x, y Delivery) int {
			return cmp.Or(cmp.Compare(seq[x.Turn], seq[y.Turn]), cmp.Compare(x.Turn, y.Turn))
		})
		return err
	})
	if err != nil {
		return nil, err // claimed may still be the writer's
	}
	l.countRedeliveries(claimed)
	return claimed, nil
}

// SweepResult is what a Sweep found to need somebody's attention.
type SweepResult struct {
	Expired   []Delivery // past their deadline
	Cancelled []Delivery // whose end was asked for, and not acknowledged within CancelGrace
	Dropped   []Delivery // with nobody working on them, of agents that do not queue or want no repeats
	Agents    []string   // for whom requests wait
}

// CancelGrace is how long an agent has to end a request that was cancelled.
const CancelGrace = 5 * time.Second

// afterJump is how long nothing is ended after the clock was set: all who work on
// something have extended their leases by then.
const afterJump = 20 * time.Second

// sweepLimit bounds what one Sweep finds of either kind; the next one goes on.
const sweepLimit = 2000

// What is over ends, and is not found again. What was dropped may be found for
// long, and is looked for apart, so that it is in nobody's way.
const (
	sweepOver = `(deadline > 0 AND deadline < $1) OR (cancel_at > 0 AND cancel_at <= $3)`
	sweepEnds = `(leased AND lease_until < $1) OR ` + sweepOver
	sweepRest = `NOT leased AND (mode <> 'queue' OR attempt > 0 AND (redelivery = 'never' OR redelivery = 'before_start' AND started))
		AND NOT (` + sweepOver + `)`
)

// Sweep ends the leases that ran out and returns what nobody looks after.
func (l *Ledger) Sweep(ctx context.Context) (SweepResult, error) {
	var found SweepResult
	var stale []Lease
	now := l.opt.Now().UnixMicro()
	grace := now - CancelGrace.Microseconds()
	sort := func(d Delivery) {
		switch {
		case !d.Deadline.IsZero() && d.Deadline.UnixMicro() < now:
			found.Expired = append(found.Expired, d)
		case !d.CancelAt.IsZero() && d.CancelAt.UnixMicro() <= grace:
			found.Cancelled = append(found.Cancelled, d)
		case d.LeaseUntil.UnixMicro() < now:
			stale = append(stale, Lease{d.Turn, d.Attempt}) // harmless for those that hold no lease
			if d.Mode != beeos.DeliverQueue || d.Final() {
				found.Dropped = append(found.Dropped, d)
			}
		}
	}
	looks := []string{sweepEnds, sweepRest}
	if l.db.JumpedWithin(afterJump) { // those who hold leases have not had the time that has passed
		looks = nil
	}
	for _, which := range looks {
		list, err := database.List(ctx, l.db, "sweep deliveries", deliveryFields,
			`SELECT `+deliveryColumns+` FROM deliveries WHERE `+which+` LIMIT $2`, now, sweepLimit, grace)
		if err != nil {
			return found, err
		}
		for _, d := range list {
			sort(d)
		}
	}
	if err := l.releaseStale(ctx, stale, now); err != nil {
		return found, fmt.Errorf("release stale leases: %w", err)
	}
	var err error
	found.Agents, err = database.ListTexts(ctx, l.db, "find agents that are waited for", `SELECT DISTINCT agent_id FROM deliveries WHERE NOT leased`)
	return found, err
}

// releaseStale releases leases unless their holder extended them meanwhile.
func (l *Ledger) releaseStale(ctx context.Context, leases []Lease, now int64) error {
	if len(leases) == 0 {
		return nil
	}
	return l.releaseLeases(ctx, `lease_until < $1 AND `, leases, func(*batch) int64 { return now }, &Attempt{Why: beeos.LeaseExpired})
}

// countRedeliveries tells which of the claimed had been handed out before.
func (l *Ledger) countRedeliveries(claimed []Delivery) {
	for i := range claimed {
		if n := claimed[i].Attempt; n > 1 && n <= beeos.MaxAttempts { // beyond it is given to nobody
			l.opt.Redelivered(lastEnd(claimed[i].Trail), 1)
		}
	}
}

// OpenDelivery returns the delivery of a request that has no terminal reply yet.
func (l *Ledger) OpenDelivery(ctx context.Context, turn string) (Delivery, error) {
	return database.Get(ctx, l.db, "read a delivery", beeos.Errorf(beeos.NotFound, "there is no open request %s", turn), deliveryFields,
		`SELECT `+deliveryColumns+` FROM deliveries WHERE turn = $1`, turn)
}
