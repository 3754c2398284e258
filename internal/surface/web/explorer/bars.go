package explorer

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// bar is a stretch of a call's time.
type bar struct {
	Kind  string // wait, work, lost, person or step: how it is drawn
	Label string
	Note  string // how it ended, or who decided
	Given string // the beginning of what a tool was called with
	After time.Duration
	Took  time.Duration
	Open  bool    // it goes on
	X, W  float64 // in hundredths of the whole
}

// shortWait is not worth a bar.
const shortWait = time.Millisecond

// barsOf draws a call: what was waited for, each attempt, and the people who
// were asked in between. now ends what goes on.
func barsOf(c *sight.Call, names func(string) string, now time.Time) (bars []bar, whole time.Duration) {
	start, end := c.Timeline[0].At, now
	if c.Done != nil {
		end = c.Done.CreatedAt
	}
	whole = max(end.Sub(start), time.Microsecond)
	add := func(b bar, from, to time.Time) {
		if b.Open = to.IsZero(); b.Open {
			to, b.Open = end, c.Done == nil
		}
		b.After, b.Took = max(0, from.Sub(start)), max(0, to.Sub(from))
		b.X = min(99.5, 100*float64(b.After)/float64(whole))
		b.W = min(100-b.X, max(.5, 100*float64(b.Took)/float64(whole)))
		bars = append(bars, b)
	}
	waiting := start
	for _, a := range c.Attempts {
		if begun := later(a.Began, a.Given); begun.Sub(waiting) >= shortWait {
			add(bar{Kind: "wait", Label: "waited"}, waiting, begun)
		}
		work := bar{Kind: "work", Label: fmt.Sprintf("attempt %d", a.Number)}
		switch {
		case a.Why != "":
			work.Kind, work.Note = "lost", a.Why.Words()
		case c.Done == nil:
			work.Note = "under way"
		case a.Instance != "":
			work.Note = "replied"
		default:
			work.Kind, work.Note = "lost", "no reply"
		}
		if a.Resumed {
			work.Label += ", the same instance"
		}
		add(work, later(a.Began, a.Given), a.Ended)
		if waiting = a.Ended; waiting.IsZero() {
			waiting = end
		}
	}
	if len(c.Attempts) == 0 || end.Sub(waiting) >= shortWait {
		add(bar{Kind: "wait", Label: "waited"}, waiting, time.Time{})
	}
	addSteps(c, names, add)
	asked := time.Time{}
	for _, m := range c.Timeline {
		switch m.Kind {
		case sight.QuestionAsked:
			asked = m.At
		case sight.QuestionAnswer:
			if !asked.IsZero() {
				add(bar{Kind: "person", Label: "question", Note: "answered by " + names(m.Who)}, asked, m.At)
				asked = time.Time{}
			}
		}
	}
	if !asked.IsZero() {
		add(bar{Kind: "person", Label: "question", Note: map[bool]string{true: "nobody has answered yet", false: "never answered"}[c.Outcome == calls.Working]}, asked, time.Time{})
	}
	for _, a := range c.Approvals {
		b := bar{Kind: "person", Label: "approval of " + safetext.Line(a.Tool, 40), Note: string(a.State)}
		if a.State == approvals.Pending {
			b.Note = "waiting"
		}
		if a.DecidedBy != "" {
			b.Note += " by " + nameDecider(a.DecidedBy, names)
		}
		add(b, a.CreatedAt, a.DecidedAt)
	}
	return bars, whole
}

// addSteps draws what the agent told of its work in the attempt that brought the
// reply.
func addSteps(c *sight.Call, names func(string) string, add func(b bar, from, to time.Time)) {
	if len(c.Steps) == 0 || len(c.Attempts) == 0 {
		return
	}
	last := c.Attempts[len(c.Attempts)-1]
	given := later(last.Began, last.Given)
	if c.Done != nil {
		given = beeos.StepsBegin(c.Steps, c.CreatedAt, given, c.Done.CreatedAt)
	}
	depths := beeos.StepDepths(c.Steps)
	for i := range c.Steps {
		s := &c.Steps[i]
		b := bar{Kind: "step", Label: strings.Repeat("·\u00a0", depths[i]+1) + safetext.Line(s.Name, 60)}
		b.Note, b.Given = describeStep(s, names)
		if s.Error != "" {
			b.Kind = "lost"
		}
		from := given.Add(time.Duration(s.AfterUS) * time.Microsecond)
		add(b, from, from.Add(time.Duration(s.TookUS)*time.Microsecond))
	}
}

// describeStep says what came of a step: of a tool, whether somebody was asked, and
// apart from that what it was called with.
func describeStep(s *beeos.Step, names func(string) string) (note, given string) {
	rest := *s
	rest.Attributes = maps.Clone(s.Attributes)
	if given = s.Attributes[beeos.StepArguments]; s.Kind == beeos.StepTool {
		delete(rest.Attributes, beeos.StepArguments)
	} else {
		given = ""
	}
	words, by := "", s.Attributes[beeos.StepDecidedBy]
	switch s.Attributes[beeos.StepApproval] {
	case beeos.WentByItself:
		words = "went ahead by itself"
	case beeos.StepApproved:
		words = "approved"
	case beeos.StepDenied:
		words = "denied"
	case beeos.StepUndecided:
		words, by = "nobody decided in time", ""
	default:
		return safetext.Line(rest.Summary(), 300), given
	}
	if by != "" {
		words += " by " + nameDecider(by, names)
	}
	delete(rest.Attributes, beeos.StepApproval)
	delete(rest.Attributes, beeos.StepDecidedBy)
	return safetext.Line(words+"; "+rest.Summary(), 300), given
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// nameDecider names who decided: a person, or what did it in their stead.
func nameDecider(by string, names func(string) string) string {
	switch by {
	case "link":
		return "whoever had the link"
	case "system":
		return "the rules"
	}
	return names(by)
}
