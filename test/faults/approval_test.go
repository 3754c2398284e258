package faults

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// TestApprovalOutlivesEverybody: a call waits for a person, and every process
// is killed. The question is still there, it is decided once however many
// press, the call goes on and the tool runs once.
func TestApprovalOutlivesEverybody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		early bool // decided before the agent is back
	}{{"decided when all are back", false}, {"decided while the agent is away", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testApprovalOutlives(t, c.early)
		})
	}
}

func testApprovalOutlives(t *testing.T, early bool) {
	n := newNode(t, "server", "BEEOS_DURABILITY=fsync")
	key := n.owner()
	n.start()
	s := spec{Name: "files", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"}
	a := startAgent(t, "agent", s)
	n.online(key, a.id, true)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	c := newCaller(t, n, a.id, key, 20)
	channel, err := c.channel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.send(ctx, channel, "save 1,2,3", "")
	if err != nil {
		t.Fatal(err)
	}
	cl := client.New(n.rest, key)
	asked := waiting(ctx, t, cl)
	if asked.Tool != "save_csv" || string(asked.Arguments) != `{"rows":"1,2,3"}` {
		t.Errorf("asked about %s %s", asked.Tool, asked.Arguments)
	}

	a.Kill()
	n.proc.Kill()
	n.start()
	if still := waiting(ctx, t, cl); still.ID != asked.ID {
		t.Fatalf("%s was asked before the end of everything, now it is %s", asked.ID, still.ID)
	}
	if early {
		decideTogether(ctx, t, asked.ID, cl)
	}
	heir := startAgent(t, "agent again", s)
	if !early {
		begun(t, 1, heir) // its lease has to run out first
		decideTogether(ctx, t, asked.ID, cl)
	}
	reply, err := c.wait(ctx, channel, m.ID)
	if err != nil || reply.Body != echoed("save 1,2,3") {
		t.Fatalf("the call ended with %q, %v", reply.Body, err)
	}
	saved := func(lines []string) int {
		return len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "saved ") }))
	}
	if n := saved(a.written()) + saved(heir.written()); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	all, err := cl.Approvals(ctx, "all")
	if err != nil || len(all) != 1 || all[0].Status != "approved" || all[0].UsedAt.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestApprovalDecidedAtAnotherNode: the agent is connected to one server, the
// caller and the person are at the other.
func TestApprovalDecidedAtAnotherNode(t *testing.T) {
	p := meshed(t)
	a := startAgent(t, "agent", spec{Name: "files", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { return newCaller(t, p.b, a.id, p.key, 2).waitInvoke(ctx, "save 1") })
	cl := client.New(p.b.rest, p.key)
	asked := waiting(ctx, t, cl)
	began := time.Now()
	decideTogether(ctx, t, asked.ID, cl)
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the call went on %s after the decision", time.Since(began).Round(time.Millisecond))
}

// waiting returns the one approval that waits.
func waiting(ctx context.Context, t *testing.T, cl *client.Client) client.Approval {
	t.Helper()
	for {
		list, err := cl.Approvals(ctx, "pending")
		switch {
		case err != nil:
			t.Fatal(err)
		case len(list) == 1:
			return list[0]
		case len(list) > 1:
			t.Fatalf("asked %d times", len(list))
		}
		if !pause(ctx, 10*time.Millisecond) {
			t.Fatal("nobody is asked")
		}
	}
}

// decideTogether lets many press at once, at one server or at several: one
// decides, the others are told.
func decideTogether(ctx context.Context, t *testing.T, id string, at ...*client.Client) {
	t.Helper()
	var errs [12]error
	var g errgroup.Group
	for i := range errs {
		g.Go(func() error {
			_, errs[i] = at[i%len(at)].Approve(ctx, id)
			return nil
		})
	}
	g.Wait() //nolint:errcheck // none of them returns one
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case beeos.CodeOf(err) != beeos.Conflict:
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d decided", won, len(errs))
	}
}
