package history

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCheckFinds: each thing that must not be is found, and nothing where all is
// well.
func TestCheckFinds(t *testing.T) {
	ok := func(change func(*Op)) Op {
		op := Op{Text: "keyed plain 1", Key: "keyed plain 1", Kind: Invoke, Node: "node 1", Sent: time.Second, Ended: 2 * time.Second, FirstTime: time.Second, Allowed: 10 * time.Second, Outcome: OK, Answer: "echo: keyed plain 1", Tries: 1}
		change(&op)
		return op
	}
	once := []Execution{{What: "begin", Agent: "agent 1", Message: "m", Attempt: 1, Text: "keyed plain 1"}}
	for _, c := range []struct {
		name   string
		op     Op
		done   []Execution
		faults []Fault
		want   string // empty = nothing
	}{
		{"all is well", ok(func(*Op) {}), once, nil, ""},
		{"streamed, with a gap", ok(func(op *Op) { op.Streamed = []string{"ec", "o: keyed"} }), once, nil, ""},
		{"streamed twice", ok(func(op *Op) { op.Streamed = []string{"ec", "ec", "ho"} }), once, nil, "wrong: keyed plain 1 (rest) was streamed as"},
		{"streamed in another order", ok(func(op *Op) { op.Streamed = []string{"ho", "ec"} }), once, nil, "wrong: keyed plain 1 (rest) was streamed as"},
		{"another answer", ok(func(op *Op) { op.Answer = "echo: other" }), once, nil, "wrong: keyed plain 1 (rest) was answered"},
		{"an answer out of nothing", ok(func(*Op) {}), nil, nil, "no agent has seen it"},
		{"no end under a key", ok(func(op *Op) { op.Outcome = Cut }), once, nil, "lost: keyed plain 1 (rest) has no end under its key"},
		{"a stored task without an end", ok(func(op *Op) { op.Kind, op.Key, op.Stored, op.Outcome = Task, "", "id", Refused }), once, nil, "lost: keyed plain 1 (task) was stored as id"},
		{"what is lost and told so", ok(func(op *Op) { op.Outcome = Told }), once, nil, ""},
		{"a key that was begun twice", ok(func(*Op) {}), append(once, Execution{What: "begin", Message: "m", Attempt: 2, Text: "keyed plain 1"}), nil, "doubled: keyed plain 1 (rest) has a key and was begun 2 times"},
		{"a second attempt without a key", ok(func(op *Op) { op.Key = "" }), append(once, Execution{What: "begin", Message: "m", Attempt: 2, Text: "keyed plain 1"}), nil, ""},
		{"one attempt twice", ok(func(op *Op) { op.Key = "" }), append(once, once...), nil, "attempt 1 at m was begun twice"},
		{"too late", ok(func(op *Op) { op.FirstTime = 13 * time.Second }), once, nil, "hung: keyed plain 1 (rest at node 1) wanted to wait 10s and waited 13s"},
		{
			"too late, at a server that could not speak", ok(func(op *Op) { op.FirstTime = 13 * time.Second }), once,
			[]Fault{{Target: "node 1", Mute: true, Began: 5 * time.Second, Ended: 14 * time.Second}},
			"",
		},
		{
			"too late, and another server could not speak", ok(func(op *Op) { op.FirstTime = 13 * time.Second }), once,
			[]Fault{{Target: "node 2", Mute: true, Began: 5 * time.Second, Ended: 14 * time.Second}},
			"hung",
		},
		{"done although somebody said no", ok(func(op *Op) { op.Kind, op.WantsNo, op.Outcome = Approval, true, Told }), append(once, Execution{What: "saved", Text: "keyed plain 1"}), nil, "was done although somebody said no"},
		{"not done although answered so", ok(func(op *Op) { op.Kind = Approval }), once, nil, "was answered as done and was not"},
		{"done twice on one yes", ok(func(op *Op) { op.Kind = Approval }), append(once, Execution{What: "saved", Text: "keyed plain 1"}, Execution{What: "saved", Text: "keyed plain 1"}), nil, "was done 2 times on one yes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := New(filepath.Join(t.TempDir(), "history"))
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			h.Add(&c.op)
			for _, f := range c.faults {
				h.AddFault(f)
			}
			v := h.Check(c.done)
			if got := v.Problems(10); !strings.Contains(got, c.want) || v.Clean() != (c.want == "") {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
