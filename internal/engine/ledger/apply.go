package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

var (
	insertKeys = newStatement(
		`INSERT INTO idempotency (scope, key, turn, channel, fingerprint, expires_at) VALUES `, `(?,?,?,?,?,?)`,
		` ON CONFLICT (scope, key) DO NOTHING`)
	insertChannels = newStatement(
		`INSERT INTO channels (id, agent_id, owner, kind, single_shot, closed_reason, next_off, deadline, metadata, created_at, updated_at) VALUES `,
		`(?,?,?,?,?,'',?,?,?,?,?)`, ` ON CONFLICT (id) DO NOTHING`)
	lockChannels  = newStatement(`SELECT id FROM channels WHERE id IN (`, `?`, `) ORDER BY id FOR UPDATE`)
	countChannels = newStatement(
		`UPDATE channels SET next_off = next_off + v.column2, updated_at = v.column4,
			closed_reason = CASE WHEN single_shot AND v.column3 = 1 AND closed_reason = '' THEN 'completed' ELSE closed_reason END
		FROM (VALUES `, `(?, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))`, `) AS v WHERE id = v.column1
		RETURNING id, next_off, agent_id, owner, closed_reason`)
	insertDeliveries = newStatement(
		`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner, route) VALUES `,
		`(?,?,?,?,?,?,?,?,?,FALSE,?,?,?,?,?)`, ` ON CONFLICT (lane) WHERE leased AND lane <> '' DO NOTHING`)
	insertTracedDeliveries = newStatement(
		`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner, route, trace) VALUES `,
		`(?,?,?,?,?,?,?,?,?,FALSE,?,?,?,?,?,?)`, ` ON CONFLICT (lane) WHERE leased AND lane <> '' DO NOTHING`)
	// What waits in a queue of several nodes is in the order of one clock.
	insertQueuedDeliveries = newStatement(
		`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, owner, route, trace) VALUES `,
		`(?,?,?,?,?,CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT),FALSE,0,?,FALSE,?,?,?,?,?,?)`, ``)
)

// batch is one transaction's work.
type batch struct {
	w         *writer
	ops       []*op
	now       int64
	committed []beeos.Message
	endings   map[string]ending
	inUse     []int64 // routes that are to be noted to be in use
	ended     []Ended
	usage     map[routeModel]*calls.UsageSum
	freed     []string // agents with a lane that a terminal reply freed
	xid       int64    // PostgreSQL's name of the transaction, when no message is proof of it
}

func newBatch(w *writer, ops []*op) *batch {
	for _, o := range ops { // a batch may run again
		o.dup, o.busy, o.err = nil, nil, nil
	}
	return &batch{w: w, ops: ops, now: w.l.opt.Now().UnixMicro()}
}

// run commits the batch. sent tells whether COMMIT was sent: when it was, an
// error leaves open whether it took effect.
func (b *batch) run(ctx context.Context) (sent bool, err error) {
	unlock, err := b.w.l.db.LockWriter(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := b.numberRoutes(ctx); err != nil {
		return false, fmt.Errorf("number routes: %w", err)
	}
	begin := "BEGIN"
	if !b.w.l.db.Postgres {
		begin = "BEGIN IMMEDIATE"
	}
	if err := b.w.exec(ctx, begin); err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	if err := b.apply(ctx); err != nil {
		return false, errors.Join(err, b.rollback(ctx))
	}
	if err := b.w.commitTx(ctx); err != nil {
		return true, errors.Join(fmt.Errorf("commit: %w", err), b.rollback(ctx))
	}
	return true, nil
}

// rollback ends the transaction also when it is the time that has run out:
// what it did must not be there when the next one begins on this connection.
func (b *batch) rollback(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWithin)
	defer cancel()
	return b.w.rollbackTx(ctx)
}

// isCommitted reports whether the batch is in the database: it is there whole or
// not at all, so one of its messages is proof. A batch without any is known by
// its transaction.
func (b *batch) isCommitted(ctx context.Context) (found bool, err error) {
	if len(b.committed) > 0 {
		m := &b.committed[0]
		err = b.w.query(ctx, `SELECT 1 FROM messages WHERE channel = $1 AND id = $2`, []any{m.Channel, m.ID},
			func(database.Row) error { found = true; return nil })
		return found, err
	}
	err = b.w.query(ctx, `SELECT txid_status($1)`, []any{b.xid}, func(r database.Row) error {
		var status string
		err := r.Scan(&status)
		if found = status == "committed"; err == nil && status == "in progress" {
			err = errors.New("the transaction before is still under way")
		}
		return err
	})
	return found, err
}

// nameTransaction asks for the name of a transaction that leaves no message behind. Only
// on PostgreSQL can the answer to a COMMIT get lost.
func (b *batch) nameTransaction(ctx context.Context) error {
	if !b.w.l.db.Postgres || len(b.committed) > 0 {
		return nil
	}
	return b.w.query(ctx, `SELECT txid_current()`, nil, func(r database.Row) error { return r.Scan(&b.xid) })
}

func (b *batch) apply(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"claim idempotency keys", b.claimKeys},
		{"create channels", b.createChannels},
		{"number messages", b.assignOffsets},
		{"answer questions", b.endPauses},
		{"release idempotency keys", b.releaseKeys},
		{"mark deliveries", b.markDeliveries},
		{"end deliveries", b.endDeliveries},
		{"insert what was said before", b.insertPast},
		{"insert requests", b.insertRequests},
		{"insert messages", b.insertMessages},
		{"insert deliveries", b.insertDeliveries},
		{"link replays", b.linkReplays},
		{"count usage", b.countUsage},
		{"note routes in use", b.noteRoutes},
		{"other writes", b.runOthers},
		{"name the transaction", b.nameTransaction},
		{"send what waits", b.w.flush}, // COMMIT may be asked about only when nothing else is
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (b *batch) runOthers(ctx context.Context) error {
	for _, o := range b.ops {
		if o.do == nil {
			continue
		}
		if err := o.do(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// standingOpenings yields the requests that still stand.
func (b *batch) standingOpenings(yield func(*op, *Opening) bool) {
	for _, o := range b.ops {
		if o.opening != nil && o.dup == nil && o.err == nil && !yield(o, o.opening) {
			return
		}
	}
}

// claimKeys inserts idempotency keys; an opening whose key is taken becomes a
// duplicate, or a conflict.
func (b *batch) claimKeys(ctx context.Context) error {
	for o, open := range b.standingOpenings {
		if open.Idempotency == nil {
			continue
		}
		dup, same, err := b.claimKey(ctx, open.Idempotency, open.Message.ID, open.Channel.ID)
		if err != nil {
			return err
		}
		if o.dup = dup; !same {
			o.err = errReused
		}
	}
	return nil
}

// claimKey inserts a key for a turn, or for the channel alone. A key that is
// taken gives who has it, and whether that said the same.
func (b *batch) claimKey(ctx context.Context, k *Idempotency, turn, channel string) (dup *Duplicate, same bool, err error) {
	if err := b.w.exec(ctx, `DELETE FROM idempotency WHERE scope = $1 AND key = $2 AND expires_at <= $3`, k.Scope, k.Key, b.now); err != nil {
		return nil, false, err
	}
	n, err := b.w.changeRows(ctx, insertKeys, []any{k.Scope, k.Key, turn, channel, k.Fingerprint, database.Micros(k.Expires)})
	if err != nil || n == 1 {
		return nil, true, err
	}
	dup = &Duplicate{}
	var fingerprint []byte
	err = b.w.query(ctx, `SELECT turn, channel, fingerprint FROM idempotency WHERE scope = $1 AND key = $2`, []any{k.Scope, k.Key},
		func(r database.Row) error { return r.Scan(&dup.Turn, &dup.Channel, &fingerprint) })
	return dup, k.fits(fingerprint), err
}

// releaseKeys gives back the keys of openings that were refused, so that
// another try is a first one.
func (b *batch) releaseKeys(ctx context.Context) error {
	for _, o := range b.ops {
		if o.opening == nil || o.err == nil || o.dup != nil {
			continue
		}
		if err := b.releaseKey(ctx, o.opening.Idempotency); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) releaseKey(ctx context.Context, k *Idempotency) error {
	if k == nil {
		return nil
	}
	return b.w.exec(ctx, `DELETE FROM idempotency WHERE scope = $1 AND key = $2`, k.Scope, k.Key)
}

func (b *batch) createChannels(ctx context.Context) error {
	var values []any
	for _, open := range b.standingOpenings {
		if open.Known {
			continue
		}
		c := &open.Channel
		next := int64(1)
		if open.Fresh {
			open.Message.Offset = open.numberPast()
			next = open.Message.Offset + 1
		}
		meta, err := encodeMetadata(c.Metadata)
		if err != nil {
			return err
		}
		values = append(values, c.ID, c.AgentID, c.Owner, c.Kind, c.SingleShot, next, database.Micros(c.Deadline), meta, b.now, b.now)
	}
	err := b.w.execRows(ctx, insertChannels, values)
	return err
}

func encodeMetadata(m map[string]string) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	data, err := json.Marshal(m)
	return string(data), err
}

// channelNumbers is what one channel gets in this batch.
type channelNumbers struct {
	count, closing int64
	next           int64 // the next offset to hand out
	agent, owner   string
	closed         string
	found          bool
}

// assignOffsets takes offsets from the channel rows, in the order of their ids so
// that two batches never wait for each other in a circle.
func (b *batch) assignOffsets(ctx context.Context) error {
	channels := map[string]*channelNumbers{}
	count := func(channel string, terminal bool) {
		n := channels[channel]
		if n == nil {
			n = &channelNumbers{}
			channels[channel] = n
		}
		n.count++
		if terminal {
			n.closing = 1
		}
	}
	for _, open := range b.standingOpenings {
		if !open.Fresh {
			count(open.Channel.ID, false)
		}
	}
	for _, o := range b.ops {
		if o.message != nil {
			count(o.message.Channel, o.message.Type.Terminal())
		}
	}
	if len(channels) == 0 {
		return nil
	}
	if err := b.takeOffsets(ctx, channels); err != nil {
		return err
	}
	b.numberMessages(channels)
	return nil
}

func (b *batch) takeOffsets(ctx context.Context, channels map[string]*channelNumbers) error {
	var names, values []any
	for _, id := range slices.Sorted(maps.Keys(channels)) {
		n := channels[id]
		names = append(names, id)
		values = append(values, id, n.count, n.closing, b.now)
	}
	if err := b.lockChannels(ctx, names); err != nil {
		return err
	}
	return b.w.queryRows(ctx, countChannels, values, func(r database.Row) error {
		var id, agent, owner, closed string
		var next int64
		if err := r.Scan(&id, &next, &agent, &owner, &closed); err != nil {
			return err
		}
		n := channels[id]
		n.next, n.agent, n.owner, n.closed, n.found = next-n.count, agent, owner, closed, true
		return nil
	})
}

// lockChannels keeps the channels from other writers until the commit. SQLite has one.
func (b *batch) lockChannels(ctx context.Context, ids []any) error {
	if !b.w.l.db.Postgres {
		return nil
	}
	return b.w.queryRows(ctx, lockChannels, ids, func(database.Row) error { return nil })
}

var (
	errNoChannel     = beeos.Errorf(beeos.NotFound, "there is no such channel")
	errChannelClosed = beeos.Errorf(beeos.Conflict, "the channel is closed; start a new one")
)

func (b *batch) numberMessages(channels map[string]*channelNumbers) {
	for o, open := range b.standingOpenings {
		if open.Fresh {
			continue
		}
		n := channels[open.Channel.ID]
		switch {
		case !n.found || n.agent != open.Channel.AgentID || n.owner != open.Channel.Owner:
			o.err = errNoChannel
		case n.closed != "":
			o.err = errChannelClosed
		default:
			open.Message.Offset = n.next
			n.next++
		}
	}
	for _, o := range b.ops {
		if o.message == nil {
			continue
		}
		n := channels[o.message.Channel]
		if !n.found {
			o.err = errNoChannel
			continue
		}
		o.message.Offset = n.next
		n.next++
	}
}

// insertDeliveries makes requests into work for agents.
func (b *batch) insertDeliveries(ctx context.Context) error {
	var plain, traced, queued []any
	for o, open := range b.standingOpenings {
		d := open.Delivery
		if d == nil {
			continue
		}
		if d.Mode == beeos.DeliverQueue && b.w.l.db.Postgres {
			queued = append(queued, b.queuedRow(open)...)
			continue
		}
		row, insert, rows := b.deliveryRow(open), insertDeliveries, &plain
		if d.Trace != "" {
			row, insert, rows = append(row, d.Trace), insertTracedDeliveries, &traced
		}
		if d.Mode != beeos.DeliverBusyReject {
			*rows = append(*rows, row...)
			continue
		}
		n, err := b.w.changeRows(ctx, insert, row)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := b.refuseAsBusy(ctx, o, open); err != nil {
				return err
			}
		}
	}
	if err := b.w.execRows(ctx, insertDeliveries, plain); err != nil {
		return err
	}
	if err := b.w.execRows(ctx, insertTracedDeliveries, traced); err != nil {
		return err
	}
	err := b.w.execRows(ctx, insertQueuedDeliveries, queued)
	return err
}

// queuedRow is a row of insertQueuedDeliveries: its place in the queue is the moment
// at which PostgreSQL writes it. What a node takes for the time is some milliseconds
// off, and what one node has acknowledged must come before what another takes next.
func (b *batch) queuedRow(open *Opening) []any {
	d, m := open.Delivery, &open.Message
	return []any{m.ID, m.Channel, m.Offset, d.AgentID, d.Lane, b.now, string(d.Mode), string(d.Redelivery), database.Micros(d.Deadline), m.Publisher, open.route, d.Trace}
}

// deliveryRow: what queues starts unleased and is claimed in order; the rest
// is leased to the dispatch that follows at once.
func (b *batch) deliveryRow(open *Opening) []any {
	d, m := open.Delivery, &open.Message
	b.w.seq = max(b.w.seq+1, b.now)
	leased, attempt, until := true, int64(1), database.Micros(d.LeaseUntil)
	if d.Mode == beeos.DeliverQueue {
		leased, attempt, until = false, 0, b.now
	}
	return []any{m.ID, m.Channel, m.Offset, d.AgentID, d.Lane, b.w.seq, leased, attempt, until, string(d.Mode), string(d.Redelivery), database.Micros(d.Deadline), m.Publisher, open.route}
}

// refuseAsBusy answers a request for an agent that takes one at a time and has one.
func (b *batch) refuseAsBusy(ctx context.Context, o *op, open *Opening) error {
	m := &beeos.Message{
		ID: beeos.NewID(), Channel: open.Channel.ID, Type: beeos.AgentBusy, State: beeos.StateRefused, StopReason: beeos.StopRefused,
		InReplyTo: open.Message.ID, Publisher: "agent:" + open.Channel.AgentID, Body: "The agent is busy with another request; try again later.",
	}
	answer := &batch{w: b.w, ops: []*op{{message: m}}, now: b.now, endings: map[string]ending{open.Message.ID: {route: open.route, began: b.now, trace: open.Delivery.Trace}}}
	if err := answer.assignOffsets(ctx); err != nil {
		return err
	}
	if err := answer.insertMessages(ctx); err != nil {
		return err
	}
	o.busy = m
	if err := b.releaseKey(ctx, open.Idempotency); err != nil {
		return err
	}
	b.committed, b.ended = append(b.committed, answer.committed...), append(b.ended, answer.ended...)
	return nil
}
