package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

const (
	maxListed   = 200_000          // calls that a sample is drawn from, the newest
	awaitOne    = 10 * time.Minute // for an answer, unless somebody says otherwise
	keysLast    = 23 * time.Hour   // for so long the server surely knows an idempotency key
	maxDiff     = 64 << 10         // bytes of a difference that are kept
	replaysOnly = "replay"         // the surface of replays
)

// beginRun draws a sample of calls and replays them.
func (c *Cmd) beginRun(ctx context.Context, t *terminal.Terminal, cl *client.Client, what client.ReplayRequest) error {
	agent, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	calls, err := c.drawSample(ctx, cl, agent.ID)
	if err != nil {
		return err
	}
	if len(calls) == 0 {
		return terminal.Hint("there are no such calls", "see which there are with: beeos calls --agent "+terminal.Quote(c.Agent))
	}
	now := time.Now()
	s, err := createState(cmp.Or(c.State, "replay-"+now.Format("20060102-150405")+".jsonl"), plan{
		Version: planVersion, Run: beeos.NewID(), Server: cl.URL(), Key: cl.KeyPrefix(), Agent: agent.ID, Against: cmp.Or(what.AgentID, agent.ID), Change: what,
		Concurrency: c.Concurrency, Timeout: cmp.Or(c.Timeout, awaitOne), Calls: calls,
	})
	if err != nil {
		return err
	}
	return c.finishRun(ctx, t, cl, s)
}

// resumeRun goes on with a run.
func (c *Cmd) resumeRun(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	s, err := openState(c.Resume)
	if err != nil {
		return err
	}
	if s.plan.Server != cl.URL() || s.plan.Key != cl.KeyPrefix() {
		return terminal.Hint(fmt.Sprintf("the run was begun at %s with the key %s…", s.plan.Server, s.plan.Key), "go on with both: another key could do things a second time")
	}
	return c.finishRun(ctx, t, cl, s)
}

// drawSample picks calls evenly. The same seed picks the same ones of the same
// calls. Replays are left out: they are nobody's real calls.
func (c *Cmd) drawSample(ctx context.Context, cl *client.Client, agentID string) (picked []string, err error) {
	f := client.CallFilter{AgentID: agentID, Tool: c.Tool, Outcomes: c.Outcome}
	now := time.Now()
	if c.Since > 0 {
		f.Since = now.Add(-c.Since)
	}
	if c.Until > 0 {
		f.Until = now.Add(-c.Until)
	}
	random := rand.New(rand.NewPCG(c.Seed, 0))
	seen := 0
	for one, err := range cl.Calls(ctx, f) {
		if err != nil {
			return nil, err
		}
		if one.Surface == replaysOnly || one.Outcome == "working" {
			continue
		}
		if seen++; len(picked) < c.Sample {
			picked = append(picked, one.ID)
		} else if at := random.IntN(seen); at < c.Sample {
			picked[at] = one.ID
		}
		if seen == maxListed {
			break
		}
	}
	slices.Sort(picked) // ids are in order of time
	return picked, nil
}

// run is a run under way.
type run struct {
	*state
	cl   *client.Client
	tell func(result)
}

// finishRun replays what is left of a run and reports on all of it.
func (c *Cmd) finishRun(ctx context.Context, t *terminal.Terminal, cl *client.Client, s *state) error {
	defer s.file.Close()
	left := s.left()
	bar := startProgress(t, len(s.plan.Calls), s.results, c.JSON)
	r := &run{state: s, cl: cl, tell: bar.count}
	err := r.replayAll(ctx, left)
	bar.stop()
	resume := "go on with: beeos replay --resume " + terminal.Quote(s.path)
	switch {
	case ctx.Err() != nil:
		return terminal.Hint(fmt.Sprintf("stopped after %d of %d", len(s.results), len(s.plan.Calls)), resume)
	case err != nil:
		return terminal.AddHint(err, resume)
	}
	rep := newReport(s)
	if c.JSON {
		return t.PrintJSON(rep)
	}
	return rep.print(t)
}

// replayAll replays calls, several at once, until they are done or something is in
// the way of all of them.
func (r *run) replayAll(ctx context.Context, calls []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.plan.Concurrency)
	for _, id := range calls {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			res, err := r.replay(ctx, id)
			if err != nil {
				return err
			}
			if err := r.end(res); err != nil {
				return err
			}
			r.tell(res)
			return nil
		})
	}
	return group.Wait()
}

// replay makes one call of the run again. An error is one that stops the run.
func (r *run) replay(ctx context.Context, id string) (result, error) {
	res := result{Call: id}
	was, err := r.cl.Call(ctx, id)
	if beeos.CodeOf(err) == beeos.NotFound && err != nil {
		return res.failed("the call is no longer there"), nil
	}
	if err != nil {
		return res, err
	}
	res.Original = measure(was)
	first, err := r.begin(id)
	switch {
	case err != nil:
		return res, err
	case time.Since(first) > keysLast:
		return res.failed("it was begun so long ago that the server may not know it any more, and it is not repeated: whether it was done is not known"), nil
	}
	change := r.plan.Change
	change.IdempotencyKey = r.plan.Run + " " + id
	made, err := startReplay(ctx, r.cl, id, change)
	if err != nil {
		return res.refused(ctx, err)
	}
	return r.await(ctx, res, was, made)
}

// refused is the result of a replay that was not made, unless no other would be
// made either.
func (res result) refused(ctx context.Context, err error) (result, error) {
	switch code := beeos.CodeOf(err); {
	case ctx.Err() != nil:
		return res, err
	case code == beeos.ConfirmationRequired:
		res.Kind, res.Why = skipped, beeos.Public(err).Message
		return res, nil
	case code == beeos.InvalidParam, code == beeos.Conflict, code == beeos.NotFound, code == beeos.PayloadTooLarge:
		return res.failed(beeos.Public(err).Message), nil
	}
	return res, err
}

// await waits for the answer and compares it.
func (r *run) await(ctx context.Context, res result, was *client.CallDetail, made *client.Replay) (result, error) {
	res.Replay = made.ID
	within, cancel := context.WithTimeout(ctx, r.plan.Timeout)
	defer cancel()
	var question string
	is, err := r.cl.AwaitReplay(within, made, func(asked string) {
		question = cmp.Or(question, asked, "something")
		if _, err := r.cl.CancelTask(within, made.AgentID, made.ID, "nobody answers in a replay of many"); err != nil {
			question += " (and it waits on: " + err.Error() + ")"
		}
	})
	switch {
	case err != nil && ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded):
		return res.failed(fmt.Sprintf("it took longer than %s and goes on", r.plan.Timeout)), nil
	case err != nil:
		return res, err
	}
	res.Repeat = measure(is)
	if question != "" {
		return res.failed("the agent asked: " + beeos.Shorten(question, 500)), nil
	}
	p := newPair(was, is)
	switch {
	case p.Same:
		res.Kind = same
	case is.Outcome != "ok" && was.Outcome == "ok":
		return res.failed(is.Outcome + ": " + beeos.Shorten(p.is, 500)), nil
	default:
		res.Kind, res.Diff = differs, beeos.Shorten(p.Diff, maxDiff)
	}
	return res, nil
}
