package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// CallsCmd is about calls to the user's agents.
type CallsCmd struct {
	List CallsListCmd `cmd:"" default:"withargs" help:"List calls to your agents, by whoever and over whichever surface. What was said is not searched; a call is found by its id with: beeos calls show ID"`
	Show CallsShowCmd `cmd:"" help:"Show all that is known of a call: what was said, who had it when, what was decided."`
}

// CallsListCmd lists calls.
type CallsListCmd struct {
	remote.Server
	Agent   string        `help:"Only those to this agent: id, slug or name."`
	Tool    string        `help:"Only those of this tool."`
	Surface string        `help:"Only those that came over mcp, a2a, rest, web or agent; or replay."`
	Caller  string        `help:"Only those of this caller: user:ID or key:ID."`
	Outcome []string      `help:"Only those that ended so: ok, failed, refused, busy, canceled, timeout, agent_lost; or working."`
	Slower  time.Duration `placeholder:"DURATION" help:"Only those that took at least so long: 10s."`
	Since   time.Duration `placeholder:"DURATION" help:"Only those of the last while: 24h."`
	Until   time.Duration `placeholder:"DURATION" help:"Only those that began longer ago than that: with --since 48h --until 24h those of the day before."`
	Limit   int           `default:"20" help:"How many."`
	Follow  bool          `short:"f" help:"Go on until Ctrl-C: calls that come, and how they end."`
	JSON    bool          `help:"Print JSON, an object on each line."`
}

const (
	maxCalls          = 1000        // that --follow looks at again each time
	lookForCallsEvery = time.Second // with --follow
)

// Validate refuses what leaves no call.
func (c *CallsListCmd) Validate() error {
	switch {
	case c.Until > 0 && c.Follow:
		return errors.New("--follow and --until: calls that come are none of those before")
	case c.Since > 0 && c.Until >= c.Since:
		return errors.New("nothing is between --since and --until; --until is the shorter time")
	}
	return nil
}

// Run prints a line per call, the oldest first.
func (c *CallsListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	f := client.CallFilter{Tool: c.Tool, Surface: c.Surface, Caller: c.Caller, Outcomes: c.Outcome, Slower: c.Slower}
	if c.Since > 0 {
		f.Since = time.Now().Add(-c.Since)
	}
	if c.Until > 0 {
		f.Until = time.Now().Add(-c.Until)
	}
	if c.Agent != "" {
		a, err := cl.Find(ctx, c.Agent)
		if err != nil {
			return err
		}
		f.AgentID = a.ID
	}
	names, err := nameAgents(ctx, cl)
	if err != nil {
		return err
	}
	list := &callList{terminal: t, names: names, json: c.JSON, told: map[string]string{}}
	for {
		found, err := latestCalls(ctx, cl, f, min(max(c.Limit, 1), maxCalls))
		if err != nil {
			return endedByPerson(ctx, err)
		}
		if err := list.print(found); err != nil || !c.Follow {
			return err
		}
		select {
		case <-time.After(lookForCallsEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// endedByPerson leaves out the error of what Ctrl-C ended.
func endedByPerson(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// latestCalls returns the newest calls, the oldest of them first.
func latestCalls(ctx context.Context, cl *client.Client, f client.CallFilter, limit int) (list []client.Call, err error) {
	for one, err := range cl.Calls(ctx, f) {
		if err != nil {
			return nil, err
		}
		if list = append(list, one); len(list) == limit {
			break
		}
	}
	slices.Reverse(list)
	return list, nil
}

// callList prints calls, each once per outcome.
type callList struct {
	terminal *terminal.Terminal
	names    agentNames
	json     bool
	told     map[string]string
}

func (l *callList) print(found []client.Call) error {
	if len(found) == 0 && len(l.told) == 0 && !l.json {
		l.terminal.Note("there are no such calls yet")
	}
	told := map[string]string{} // what has left the list is not asked about again
	for i := range found {
		one := &found[i]
		if told[one.ID] = one.Outcome; l.told[one.ID] == one.Outcome {
			continue
		}
		if err := l.printOne(one); err != nil {
			return err
		}
	}
	l.told = told
	return nil
}

func (l *callList) printOne(one *client.Call) error {
	if l.json {
		line, err := beeos.EncodeJSON(one)
		if err != nil {
			return err
		}
		return l.terminal.PrintLine(string(line))
	}
	took := ""
	if one.Outcome != "working" {
		took = terminal.Took(one.Took())
	}
	return l.terminal.PrintLine(fmt.Sprintf("%s  %-10s  %8s  %-20s  %-16s  %-6s  %-16s  %s", one.BeganAt.Local().Format(time.DateTime), one.Outcome, took,
		terminal.Shorten(terminal.Printable(l.names.of(one.AgentID)), 20), terminal.Shorten(terminal.Printable(cmp.Or(one.Tool, "-")), 16),
		one.Surface, terminal.Shorten(terminal.Printable(one.CallerName), 16), one.ID))
}

// CallsShowCmd shows one.
type CallsShowCmd struct {
	remote.Server
	ID   string `arg:"" help:"Id of the call, from: beeos calls."`
	JSON bool   `help:"Print JSON."`
}

// Run prints what was said, and what happened when.
func (c *CallsShowCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	one, err := cl.Call(ctx, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(one)
	}
	names, err := nameAgents(ctx, cl)
	if err != nil {
		return err
	}
	return t.PrintLine(describeCall(one, names))
}

// describeCall writes a call as a person reads it.
func describeCall(c *client.CallDetail, names agentNames) string {
	var b strings.Builder
	what := terminal.Printable(names.of(c.AgentID))
	if c.Tool != "" {
		what += " / " + terminal.Printable(c.Tool)
	}
	fmt.Fprintf(&b, "%s  %s  %s\n", what, c.Outcome, terminal.Took(c.Took()))
	fmt.Fprintf(&b, "  by %s (%s) over %s, %s\n  id %s, context %s\n", terminal.Printable(c.CallerName), terminal.Printable(c.Caller), c.Surface,
		c.BeganAt.Local().Format(time.DateTime), c.ID, c.ContextID)
	if c.TraceID != "" {
		fmt.Fprintf(&b, "  trace %s\n", c.TraceID)
	}
	if c.ReplayOf != "" {
		fmt.Fprintf(&b, "  replay of %s\n", c.ReplayOf)
	}
	if c.Request.Model != "" {
		fmt.Fprintf(&b, "  model %s\n", terminal.Printable(c.Request.Model))
	}
	if c.Request.Prompt != nil {
		fmt.Fprintf(&b, "  prompt tried: %s\n", terminal.Shorten(terminal.Printable(*c.Request.Prompt), 200))
	}
	if c.Request.AtStep > 0 {
		fmt.Fprintf(&b, "  taken up at step %d\n", c.Request.AtStep)
	}
	for _, r := range c.Replays {
		fmt.Fprintf(&b, "  replayed as %s, %s\n", r.ID, r.At.Local().Format(time.DateTime))
	}
	if c.MetadataOnly {
		b.WriteString("\nwhat was said is kept from you: the agent is set to metadata only\n")
	} else {
		writeSaid(&b, "request", c.Request.Text, c.Request.Arguments)
	}
	if c.Reply != nil && !c.MetadataOnly {
		writeSaid(&b, "reply", c.Reply.Text, c.Reply.Payload)
	}
	b.WriteString("\nwhat happened\n")
	for _, m := range c.Timeline {
		fmt.Fprintf(&b, "  %10s  %s\n", "+"+terminal.Took(max(0, m.At.Sub(c.Timeline[0].At))), describeMoment(&m, c.Attempts))
	}
	if len(c.Steps) > 0 {
		b.WriteString("\nwhat the agent did\n")
	}
	depths := beeos.StepDepths(c.Steps)
	for i, s := range c.Steps {
		fmt.Fprintf(&b, "  %10s  %s%s\n", terminal.Took(time.Duration(s.TookUS)*time.Microsecond), strings.Repeat("  ", depths[i]), terminal.Printable(s.Name+": "+s.Summary()))
	}
	return strings.TrimRight(b.String(), "\n")
}

func writeSaid(b *strings.Builder, title, text string, data []byte) {
	fmt.Fprintf(b, "\n%s\n", title)
	if text == "" && len(data) == 0 {
		b.WriteString("  (nothing)\n")
	}
	if text != "" {
		fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(beeos.Visible(text), "\n", "\n  "))
	}
	if len(data) > 0 {
		fmt.Fprintf(b, "  %s\n", beeos.Visible(string(data)))
	}
}

// describeMoment says in words what happened.
func describeMoment(m *client.CallMoment, attempts []client.CallAttempt) string {
	at := fmt.Sprintf("attempt %d ", m.Attempt)
	switch m.Event {
	case "received":
		return "received over " + cmp.Or(m.What, "rest")
	case "stored":
		return "stored"
	case "dispatched":
		i := slices.IndexFunc(attempts, func(a client.CallAttempt) bool { return a.Number == m.Attempt })
		if i >= 0 && attempts[i].Resumed {
			return at + "goes on with the same instance"
		}
		return at + "dispatched"
	case "given":
		return at + "sent to instance " + terminal.Printable(cmp.Or(m.Who, "unknown"))
	case "started":
		return at + "started"
	case "first_text":
		return at + "first words"
	case "attempt_over":
		return at + "is over: " + terminal.Printable(beeos.AttemptEnd(m.What).Words())
	case "question_asked":
		return strings.TrimSuffix("the agent asked: "+terminal.Printable(m.What), ": ")
	case "question_answered":
		return "answered by " + terminal.Printable(m.Who)
	case "approval_asked":
		return "approval asked for " + terminal.Printable(m.What)
	case "approval_decided":
		return terminal.Printable(m.What) + " by " + terminal.Printable(cmp.Or(m.Who, "nobody"))
	case "cancel_asked":
		return "cancelled by " + terminal.Printable(m.Who)
	case "reply_stored":
		return "ended: " + m.What
	case "delivered":
		return "a webhook of the caller's took the news"
	}
	return terminal.Printable(m.Event)
}
