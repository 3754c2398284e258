package faults

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/hands"
	"github.com/beeos/beeos/test/pgtest"
)

// office is a built-in agent at work: its model wants a file saved, under
// another name each time that it is asked, and its drive counts.
type office struct {
	t     *testing.T
	drive *hands.Drive
	model *hands.Model
	nodes []*node
	key   string
	agent string

	thinking chan struct{} // receives when the model is asked for its last words
	hold     chan struct{} // and these wait until it is closed
}

const finished = "The drive says: CSV saved to /shared/invoices/try-1.csv (0 rows)"

// newOffice starts what start makes of the settings, and deploys the agent.
// free are tools that need no approval.
func newOffice(t *testing.T, start func(settings []string) (key string, nodes []*node), free ...string) *office {
	t.Helper()
	o := &office{t: t, drive: hands.NewDrive(t), thinking: make(chan struct{}, 8), hold: make(chan struct{})}
	var mu sync.Mutex
	tries := 0
	o.model = hands.NewModel(t, func(talk hands.Talk) hands.Words {
		if last := talk.Last(); last.Role == "tool" {
			o.thinking <- struct{}{}
			<-o.hold
			return hands.Words{Text: "The drive says: " + last.Content}
		}
		mu.Lock()
		defer mu.Unlock()
		tries++
		return hands.Words{Calls: []hands.Call{hands.Save(hands.Invoice{Filename: fmt.Sprintf("try-%d", tries), Rows: []hands.Row{}})}}
	})
	o.key, o.nodes = start(o.model.Env())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cl := o.at(0)
	if _, err := cl.Deploy(ctx, o.drive.Deployment("clerk", free...), false); err != nil {
		t.Fatal(err)
	}
	for o.agent == "" {
		if a, err := cl.Find(ctx, "clerk"); err == nil && a.Online {
			o.agent = a.ID
		} else if !pause(ctx, 20*time.Millisecond) {
			t.Fatalf("the agent does not come: %v", err)
		}
	}
	return o
}

func (o *office) at(i int) *client.Client { return client.New(o.nodes[i].rest, o.key) }

// alone is one server on SQLite.
func alone(t *testing.T) func([]string) (string, []*node) {
	return func(settings []string) (string, []*node) {
		n := newNode(t, "server", append(settings, "BEEOS_DURABILITY=fsync")...)
		key := n.owner()
		n.start()
		return key, []*node{n}
	}
}

// together is two servers on one PostgreSQL.
func together(t *testing.T, database string) func([]string) (string, []*node) {
	return func(settings []string) (string, []*node) {
		p := newPair(t, database, nil, settings...)
		return p.key, []*node{p.a, p.b}
	}
}

// once makes sure of what no death may change: the tool has run once, with the
// arguments that somebody approved, if they were to, which was decided once.
func (o *office) once(ctx context.Context, approved bool) {
	o.t.Helper()
	if ran := o.drive.Executions(); len(ran) != 1 || ran[0] != "try-1" {
		o.t.Errorf("the tool ran with %v", ran)
	}
	all, err := o.at(0).Approvals(ctx, "all")
	if !approved && err == nil && len(all) == 0 {
		return
	}
	if err != nil || len(all) != 1 || all[0].Status != "approved" || all[0].UsedAt.IsZero() {
		o.t.Errorf("%+v, %v", all, err)
	}
}

// TestHandsOutliveEverybody: the call of a built-in agent waits for a person,
// and what it stands on is killed. The question is still there, is decided
// once, the tool runs once, and the caller gets its one answer.
func TestHandsOutliveEverybody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pair bool
		at   int // where the caller is
		hurt func(*office, *pgtest.Server)
	}{
		"the server is killed": {hurt: func(o *office, _ *pgtest.Server) {
			o.nodes[0].proc.Kill()
			o.nodes[0].start()
		}},
		"the server is stopped": {hurt: func(o *office, _ *pgtest.Server) {
			if _, code := o.nodes[0].proc.terminate(patience); code != 0 {
				o.t.Errorf("it ended with code %d", code)
			}
			o.nodes[0].start()
		}},
		// One of the two runs the agent.
		"one of two is killed":   {pair: true, at: 1, hurt: func(o *office, _ *pgtest.Server) { o.nodes[0].proc.Kill() }},
		"the other is killed":    {pair: true, at: 0, hurt: func(o *office, _ *pgtest.Server) { o.nodes[1].proc.Kill() }},
		"the database is killed": {pair: true, at: 1, hurt: func(o *office, db *pgtest.Server) { db.Crash(o.t) }},
		"all are killed": {pair: true, at: 1, hurt: func(o *office, db *pgtest.Server) {
			o.nodes[0].proc.Kill()
			o.nodes[1].proc.Kill()
			db.Crash(o.t)
			o.nodes[0].start()
			o.nodes[1].start()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
			defer cancel()
			var db *pgtest.Server
			start := alone(t)
			if c.pair {
				db = pgtest.Cluster(t, pgtest.Fsync)
				start = together(t, db.URL(t))
			}
			o := newOffice(t, start)
			close(o.hold)
			call := newCaller(t, o.nodes[c.at], o.agent, o.key, 4)
			first := make(chan error, 1)
			go func() { first <- judgeSaved(ctx, call, finished) }()
			asked := waiting(ctx, t, o.at(c.at))
			if asked.Tool != hands.SaveCSV || asked.Skill != hands.Skill || string(asked.Arguments) != `{"filename":"try-1","rows":[]}` {
				t.Errorf("asked about %+v", asked)
			}
			c.hurt(o, db)
			if still := o.still(ctx, c.at); still.ID != asked.ID {
				t.Fatalf("asked as %s, then as %s", asked.ID, still.ID)
			}
			decideTogether(ctx, t, asked.ID, o.living()...)
			if err := <-first; err != nil && !unreachable(err) && beeos.CodeOf(err) != beeos.AgentServiceUnavailable {
				t.Errorf("the caller hears %v", err)
			}
			o.comeAgain(ctx, call, finished)
			o.nodes[0] = o.nodes[c.at]
			o.once(ctx, true)
			if n := len(o.model.Talks()); n != 2 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}

// still returns what waits, from a server that may need a moment to find its
// database again.
func (o *office) still(ctx context.Context, at int) client.Approval {
	o.t.Helper()
	for {
		list, err := o.at(at).Approvals(ctx, "pending")
		if err == nil && len(list) == 1 {
			return list[0]
		}
		if !pause(ctx, 100*time.Millisecond) {
			o.t.Fatalf("waiting: %+v, %v", list, err)
		}
	}
}

// living are clients of the nodes that run.
func (o *office) living() (all []*client.Client) {
	for i, n := range o.nodes {
		select {
		case <-n.proc.Ended():
		default:
			all = append(all, o.at(i))
		}
	}
	return all
}

// judgeSaved is a keyed call that must end with such an answer.
func judgeSaved(ctx context.Context, c *caller, want string) error {
	got, err := c.tool(ctx, "save it", "payment")
	if err == nil && !strings.HasPrefix(got, want) {
		err = fmt.Errorf("it was answered %q", got)
	}
	return err
}

// comeAgain repeats the call once the agent is back, for as long as the first
// one is in flight or the server says to try again: a database that was killed
// leaves it with dead connections. The answer is kept under the call's key.
func (o *office) comeAgain(ctx context.Context, c *caller, want string) {
	o.t.Helper()
	c.node.online(o.key, o.agent, true)
	for {
		err := judgeSaved(ctx, c, want)
		code := beeos.CodeOf(err)
		if (code == beeos.Conflict || code == beeos.AgentServiceUnavailable) && pause(ctx, 200*time.Millisecond) {
			continue
		}
		if err != nil {
			o.t.Errorf("the caller that comes again hears %v", err)
		}
		return
	}
}

// TestNoToolRunsTwice: the server is killed while a tool runs, or once its
// answer is there and the model thinks about it. The tool does not run again:
// the model goes on with the answer, or hears that nobody knows it.
func TestNoToolRunsTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inCall bool
		want   string
	}{
		"in the call":             {true, "The drive says: the agent was interrupted while it made this call: it may have been carried out; its result is not known."},
		"before the model's word": {false, finished},
	} {
		for kind, pair := range map[string]bool{"one server, nobody asked": false, "two servers, approved": true} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
				defer cancel()
				var o *office
				if pair {
					o = newOffice(t, together(t, pgtest.URL(t)))
				} else {
					o = newOffice(t, alone(t), hands.SaveCSV)
				}
				if c.inCall {
					o.drive.Hold()
				}
				last := len(o.nodes) - 1
				call := newCaller(t, o.nodes[last], o.agent, o.key, 4)
				first := make(chan error, 1)
				go func() { first <- judgeSaved(ctx, call, c.want) }()
				if pair {
					decideTogether(ctx, t, waiting(ctx, t, o.at(last)).ID, o.living()...)
				}
				if err := o.drive.Begun(ctx, 1); err != nil {
					t.Fatal(err)
				}
				if !c.inCall {
					<-o.thinking
				}
				for _, n := range o.nodes {
					n.proc.Kill()
				}
				o.drive.Release()
				close(o.hold)
				<-first
				for _, n := range o.nodes {
					n.start()
				}
				o.comeAgain(ctx, call, c.want)
				o.once(ctx, pair)
			})
		}
	}
}
