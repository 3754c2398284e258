package history

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// Verdict is what a campaign showed.
type Verdict struct {
	Ops      map[Kind]int
	Outcomes map[Outcome]int
	Faults   map[string]int

	Lost    []string // acknowledged, and not there or without an end
	Doubled []string // done or ended twice where that was ruled out
	Hung    []string // callers that waited longer than they wanted
	Wrong   []string // whatever else must not be

	LongestSilence time.Duration              // in which no caller anywhere had an answer
	Heal           map[string][]time.Duration // from the end of each fault to the next answer, by its name
}

// Clean reports whether everything held that was promised.
func (v *Verdict) Clean() bool {
	return len(v.Lost)+len(v.Doubled)+len(v.Hung)+len(v.Wrong) == 0
}

// grace is how much longer than its timeout a call may take.
const grace = 2 * time.Second

// Check compares what callers were told with what agents did.
func (h *History) Check(done []Execution) *Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := &Verdict{Ops: map[Kind]int{}, Outcomes: map[Outcome]int{}, Faults: map[string]int{}, Heal: map[string][]time.Duration{}}
	begun, saved := map[string][]Execution{}, map[string]int{}
	for _, e := range done {
		switch e.What {
		case "begin":
			begun[e.Text] = append(begun[e.Text], e)
		case "saved":
			saved[e.Text]++
		}
	}
	for _, f := range h.Faults {
		v.Faults[f.Name]++
	}
	for _, op := range h.Ops {
		v.Ops[op.Kind]++
		v.Outcomes[op.Outcome]++
		h.checkAnswer(v, op, begun[op.Text])
		h.checkTime(v, op)
		checkPieces(v, op)
		checkOnce(v, op, begun[op.Text])
		if op.Kind == Approval {
			checkConsent(v, op, saved[op.Text])
		}
	}
	h.measure(v)
	return v
}

// Echoed is what an agent answers to a text.
func Echoed(text string) string { return "echo: " + text }

func (h *History) checkAnswer(v *Verdict, op *Op, begun []Execution) {
	switch {
	case op.Outcome == OK && op.Answer != Echoed(op.Text):
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s (%s) was answered %q", op.Text, op.Kind, op.Answer))
	case op.Outcome == OK && len(begun) == 0:
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s (%s) was answered, and no agent has seen it", op.Text, op.Kind))
	case op.Stored != "" && op.Outcome != OK && op.Outcome != Told:
		v.Lost = append(v.Lost, fmt.Sprintf("%s (%s) was stored as %s and has no end: %s", op.Text, op.Kind, op.Stored, op.Error))
	case op.Key != "" && op.Outcome != OK && op.Outcome != Told:
		v.Lost = append(v.Lost, fmt.Sprintf("%s (%s) has no end under its key: %s", op.Text, op.Kind, op.Error))
	}
}

// checkPieces: pieces of a streamed answer may be missing, but none comes twice or
// out of its turn. What has no key may be begun again, and so is said again.
func checkPieces(v *Verdict, op *Op) {
	if op.Key == "" || op.Outcome != OK {
		return
	}
	rest := op.Answer
	for _, piece := range op.Streamed {
		i := strings.Index(rest, piece)
		if i < 0 {
			v.Wrong = append(v.Wrong, fmt.Sprintf("%s (%s) was streamed as %q and is %q", op.Text, op.Kind, op.Streamed, op.Answer))
			return
		}
		rest = rest[i+len(piece):]
	}
}

// checkTime: nobody waits longer than they wanted, but for those whose server
// could not speak at all.
func (h *History) checkTime(v *Verdict, op *Op) {
	if op.Allowed == 0 || op.FirstTime <= op.Allowed+grace {
		return
	}
	for _, f := range h.Faults {
		if f.Mute && f.Target == op.Node && f.Began <= op.Sent+op.FirstTime && f.Ended+grace >= op.Sent {
			return
		}
	}
	v.Hung = append(v.Hung, fmt.Sprintf("%s (%s at %s) wanted to wait %s and waited %s: %s %s", op.Text, op.Kind, op.Node, op.Allowed, op.FirstTime.Round(time.Millisecond), op.Outcome, op.Error))
}

// checkOnce: what has a key is begun once. Anything else may be begun again, as
// a further attempt at the same message.
func checkOnce(v *Verdict, op *Op, begun []Execution) {
	if op.Key != "" && len(begun) > 1 {
		v.Doubled = append(v.Doubled, fmt.Sprintf("%s (%s) has a key and was begun %d times: %v", op.Text, op.Kind, len(begun), begun))
		return
	}
	seen := map[string]bool{}
	for _, e := range begun {
		at := fmt.Sprint(e.Message, " ", e.Attempt)
		if seen[at] {
			v.Doubled = append(v.Doubled, fmt.Sprintf("%s (%s): attempt %d at %s was begun twice", op.Text, op.Kind, e.Attempt, e.Message))
		}
		seen[at] = true
	}
}

// checkConsent: what an agent asked before it acted was done if and only if
// somebody said yes, and once.
func checkConsent(v *Verdict, op *Op, saved int) {
	switch {
	case op.WantsNo && saved > 0:
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s was done although somebody said no", op.Text))
	case op.Outcome == OK && op.WantsNo:
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s was answered as done although somebody said no", op.Text))
	case op.Outcome == OK && saved == 0:
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s was answered as done and was not", op.Text))
	case saved > 1:
		v.Doubled = append(v.Doubled, fmt.Sprintf("%s was done %d times on one yes", op.Text, saved))
	}
}

// measure says how long nobody was answered, and how soon after each fault
// somebody was.
func (h *History) measure(v *Verdict) {
	var ends []time.Duration
	for _, op := range h.Ops {
		if op.Outcome == OK && op.Tries == 1 {
			ends = append(ends, op.Ended)
		}
	}
	slices.Sort(ends)
	for i := 1; i < len(ends); i++ {
		v.LongestSilence = max(v.LongestSilence, ends[i]-ends[i-1])
	}
	for _, f := range h.Faults {
		if i := sort.Search(len(ends), func(i int) bool { return ends[i] >= f.Ended }); i < len(ends) {
			v.Heal[f.Name] = append(v.Heal[f.Name], ends[i]-f.Ended)
		}
	}
}

// Problems are all that did not hold, each with what it is, at most so many of
// a kind.
func (v *Verdict) Problems(most int) string {
	var b strings.Builder
	for _, p := range []struct {
		name string
		list []string
	}{{"lost", v.Lost}, {"doubled", v.Doubled}, {"hung", v.Hung}, {"wrong", v.Wrong}} {
		for i, text := range p.list {
			if i == most {
				fmt.Fprintf(&b, "%s: and %d more\n", p.name, len(p.list)-most)
				break
			}
			fmt.Fprintf(&b, "%s: %s\n", p.name, text)
		}
	}
	return b.String()
}
