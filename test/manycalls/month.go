package manycalls

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/beeos/beeos/internal/store/calls"
)

// What there is in a month, besides the many.
const (
	RareAgent  = "agent_rare" // has one call in ten thousand
	PastAgent  = "agent_past" // was busy in the first days, and has rested since
	OnceAgent  = "agent_once" // was called once, in the middle of the month
	OnceCaller = "user:once"  // by whom
	OnceTool   = "once"       // which tool of it
	RareTool   = "defragment" // was used once in ten thousand calls, with any agent

	// FailingAgent has one call in a hundred; nearly all of them fail.
	FailingAgent = "agent_failing"

	Length = 30 * 24 * time.Hour

	agents, callers = 300, 3000
)

// The owners of the agents of a month.
var (
	Lot = append(ownedBy(0, 250), RareAgent, PastAgent, OnceAgent, FailingAgent) // has nearly all
	Few = ownedBy(250, 253)                                                      // has three that are hardly called
)

func ownedBy(from, to int) (ids []string) {
	for i := from; i < to; i++ {
		ids = append(ids, Agent(i))
	}
	return ids
}

// Agent is the id of an agent, the busiest first.
func Agent(i int) string { return fmt.Sprintf("agent_%03d", i) }

// Caller is a caller, the busiest first.
func Caller(i int) string { return fmt.Sprintf("user:%04d", i) }

// Tool is the name of a tool, the most used first.
func Tool(i int) string { return fmt.Sprintf("tool_%02d", i) }

// Month makes up n calls, the oldest first, always the same for the same end: 300
// agents, 3,000 callers, five surfaces and 20 tools, some of each far busier than
// others; three in a hundred go wrong, and next to all of one agent; one in ten
// takes a second and more, and some of the last are under way.
func Month(n int, end time.Time) iter.Seq[calls.Call] {
	return func(yield func(calls.Call) bool) {
		m := newMonth()
		every := Length / time.Duration(n)
		for i := range n {
			began := end.Add(-Length + time.Duration(i)*every + time.Duration(m.Int64N(int64(every)))).UTC().Truncate(time.Microsecond)
			c := calls.Call{Turn: m.id(began), Began: began, Route: m.routeAt(i, n)}
			c.Outcome, c.Took = m.outcome(), m.took()
			if c.Route.AgentID == FailingAgent && m.IntN(1000) > 0 {
				c.Outcome = calls.Failed
			}
			if i == n/2 {
				c.Took = 30 * time.Minute // nothing else takes so long
			}
			if left := end.Sub(began); c.Took > left || i > n-n/100 && m.IntN(50) == 0 {
				c.Outcome, c.Took = calls.Working, 0
			}
			if !yield(c) {
				return
			}
		}
	}
}

// month makes calls up.
type month struct {
	*rand.Rand
	routes  []calls.Route
	weights []float64 // of each route and all before it
}

func newMonth() *month {
	m := &month{Rand: rand.New(rand.NewPCG(1, 2))}
	agent, tool := m.skewed(agents, 2), m.skewed(20, 2)
	total := 0.0
	for caller := range callers {
		home := m.surface()
		for range 5 { // agents that they know
			a := agent()
			for range 3 { // tools that they use of it
				surface := home
				if m.IntN(8) == 0 {
					surface = m.surface()
				}
				total += m.Float64() / float64(caller+10)
				m.routes = append(m.routes, calls.Route{AgentID: Agent(a), Caller: Caller(caller), Surface: surface, Tool: Tool(tool())})
				m.weights = append(m.weights, total)
			}
		}
	}
	return m
}

// skewed draws numbers below n, the first most often.
func (m *month) skewed(n int, flatness float64) func() int {
	sums := make([]float64, n)
	total := 0.0
	for i := range sums {
		total += 1 / (float64(i) + flatness)
		sums[i] = total
	}
	return func() int { return sort.SearchFloat64s(sums, m.Float64()*total) }
}

func (m *month) surface() string {
	switch p := m.IntN(1000); {
	case p < 550:
		return "mcp"
	case p < 800:
		return "rest"
	case p < 920:
		return "a2a"
	case p < 998:
		return "web"
	}
	return "agent"
}

// routeAt is the route of the i-th call of n.
func (m *month) routeAt(i, n int) calls.Route {
	r := m.routes[sort.SearchFloat64s(m.weights, m.Float64()*m.weights[len(m.weights)-1])]
	switch {
	case i == n/2:
		r.AgentID, r.Caller, r.Tool = OnceAgent, OnceCaller, OnceTool
	case i%10_000 == 5000:
		r.AgentID = RareAgent
	case i%10_000 == 7000:
		r.Tool = RareTool
	case i%100 == 3:
		r.AgentID = FailingAgent
	case i < n/10 && i%5 == 0:
		r = m.routes[m.IntN(1500)] // of its hundred callers
		r.AgentID = PastAgent
	}
	return r
}

// outcome is how a call goes: badly three times in a hundred.
func (m *month) outcome() calls.Outcome {
	switch p := m.IntN(10_000); {
	case p < 180:
		return calls.Failed
	case p < 210:
		return calls.Refused
	case p < 240:
		return calls.Busy
	case p < 270:
		return calls.Canceled
	case p < 290:
		return calls.TimedOut
	case p < 300:
		return calls.Lost
	}
	return calls.OK
}

// took is how long a call takes: mostly no tenth of a second, sometimes minutes.
func (m *month) took() time.Duration {
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(m.Int64N(int64(high-low))) }
	switch p := m.IntN(1000); {
	case p < 700:
		return between(time.Millisecond, 100*time.Millisecond)
	case p < 900:
		return between(100*time.Millisecond, time.Second)
	case p < 980:
		return between(time.Second, 10*time.Second)
	case p < 999:
		return between(10*time.Second, time.Minute)
	}
	return between(time.Minute, 5*time.Minute)
}

// id is one as a server makes it for a request at that moment.
func (m *month) id(at time.Time) string {
	n := calls.KeyOf(at)
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", n>>28, n>>12&0xffff, n&0xfff, m.IntN(0x1000), m.Int64N(1<<48))
}
