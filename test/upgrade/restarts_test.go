//go:build unix && upgrade

package upgrade

import "testing"

// rounds is how often each of the three nodes is restarted, and how often it is killed.
const rounds = 10

// TestRestartsAndKills restarts the nodes of one PostgreSQL one after the other, and then
// kills them so. Callers that try again once, at the next node, notice nothing, but for
// the few who are told that nobody knows whether the agent got their call.
func TestRestartsAndKills(t *testing.T) {
	p := buildTree(t)
	f := newFleet(t, 3, p)
	agents := f.connect(p)

	l := startLoad(t, "restarts", f.doors(), agents[0].ID)
	for range rounds {
		f.replace(p, agents, func() { l.more(20) })
	}
	l.end(agents...)
	f.verify(p)

	l = startLoad(t, "kills", f.doors(), agents[0].ID)
	l.killed = true
	for range rounds {
		for i, n := range f.nodes {
			connected := agents[i].connections()
			n.Process.Kill()
			f.start(n, p)
			if err := agents[i].awaitConnections(t.Context(), connected+1); err != nil {
				t.Fatalf("%s: its agent does not come back: %v", n.Name, err)
			}
			l.more(20)
			l.calm() // who tries once more has met one kill, not two
		}
	}
	l.end(agents...)
	f.verify(p)
}
