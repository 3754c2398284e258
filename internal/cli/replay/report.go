package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// kind is what came of a replay.
type kind string

const (
	same    kind = "same"    // also where both went wrong in the same way
	differs kind = "differs" // the answer is another one
	failed  kind = "failed"  // it went wrong, and the first had not
	skipped kind = "skipped" // it may change things, and nobody said --yes
)

// result is what came of one call of a run.
type result struct {
	Call     string   `json:"call"`
	Replay   string   `json:"replay,omitempty"` // empty = none was made
	Kind     kind     `json:"kind"`
	Why      string   `json:"why,omitempty"`  // it failed or was skipped
	Diff     string   `json:"diff,omitempty"` // of the answers
	Original measured `json:"original"`
	Repeat   measured `json:"repeat"`
}

func (res result) failed(why string) result {
	res.Kind, res.Why = failed, why
	return res
}

// measured is what a call took.
type measured struct {
	Outcome      string  `json:"outcome,omitempty"`
	TookMS       float64 `json:"took_ms"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
}

func measure(c *client.CallDetail) measured {
	in, out := c.Tokens()
	return measured{Outcome: c.Outcome, TookMS: c.TookMS, InputTokens: in, OutputTokens: out}
}

// report is what came of a run.
type report struct {
	Run      string   `json:"run"`
	State    string   `json:"state"`
	Agent    string   `json:"agent_id"`
	Against  string   `json:"against_id"`
	Calls    int      `json:"calls"`
	Same     int      `json:"same"`
	Differ   int      `json:"differ"`
	Failed   int      `json:"failed"`
	Skipped  int      `json:"skipped"`
	Original totals   `json:"original"` // of those that were replayed
	Repeat   totals   `json:"replay"`
	Results  []result `json:"results"`
}

// totals are what calls took together.
type totals struct {
	P50MS        float64 `json:"p50_ms"`
	P95MS        float64 `json:"p95_ms"`
	SumMS        float64 `json:"sum_ms"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
}

func newReport(s *state) report {
	rep := report{Run: s.plan.Run, State: s.path, Agent: s.plan.Agent, Against: s.plan.Against, Calls: len(s.plan.Calls)}
	var was, is []measured
	for _, id := range s.plan.Calls {
		res, ok := s.results[id]
		if !ok {
			continue
		}
		rep.Results = append(rep.Results, res)
		*rep.counter(res.Kind)++
		if res.Repeat.Outcome != "" {
			was, is = append(was, res.Original), append(is, res.Repeat)
		}
	}
	rep.Original, rep.Repeat = total(was), total(is)
	return rep
}

func (r *report) counter(k kind) *int {
	switch k {
	case same:
		return &r.Same
	case differs:
		return &r.Differ
	case skipped:
		return &r.Skipped
	}
	return &r.Failed
}

func total(list []measured) (sum totals) {
	times := make([]float64, len(list))
	for i, m := range list {
		times[i] = m.TookMS
		sum.SumMS += m.TookMS
		sum.InputTokens += m.InputTokens
		sum.OutputTokens += m.OutputTokens
	}
	slices.Sort(times)
	sum.P50MS, sum.P95MS = quantile(times, 50), quantile(times, 95)
	return sum
}

// quantile is the smallest of the sorted values that so many per cent do not
// exceed.
func quantile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}

// shownDiffs is how many differences are printed; the file has all.
const shownDiffs = 20

func (r *report) print(t *terminal.Terminal) error {
	var b strings.Builder
	shown := map[kind]int{}
	for _, res := range r.Results {
		shown[res.Kind]++
		if res.Kind == same || shown[res.Kind] > shownDiffs {
			continue
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", res.Kind, res.Call, res.Replay)
		for line := range strings.Lines(res.Diff + res.Why) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	if left := max(0, r.Differ-shownDiffs) + max(0, r.Failed-shownDiffs) + max(0, r.Skipped-shownDiffs); left > 0 {
		fmt.Fprintf(&b, "and %d more, in %s\n", left, r.State)
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%d calls: %d the same, %d differ, %d failed", r.Calls, r.Same, r.Differ, r.Failed)
	if r.Skipped > 0 {
		fmt.Fprintf(&b, ", %d left out because they may change things (--yes)", r.Skipped)
	}
	b.WriteString("\n\n          original    replay\n")
	for _, row := range [][3]string{
		{"p50", tookMS(r.Original.P50MS), tookMS(r.Repeat.P50MS)},
		{"p95", tookMS(r.Original.P95MS), tookMS(r.Repeat.P95MS)},
		{"in all", tookMS(r.Original.SumMS), tookMS(r.Repeat.SumMS)},
		{"tokens in", fmt.Sprint(r.Original.InputTokens), fmt.Sprint(r.Repeat.InputTokens)},
		{"tokens out", fmt.Sprint(r.Original.OutputTokens), fmt.Sprint(r.Repeat.OutputTokens)},
	} {
		fmt.Fprintf(&b, "%-10s%-12s%s\n", row[0], row[1], row[2])
	}
	return t.PrintLine(strings.TrimSuffix(b.String(), "\n"))
}

func tookMS(ms float64) string {
	return terminal.Took(time.Duration(ms * float64(time.Millisecond)))
}
