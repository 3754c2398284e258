package approval

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/approvals"
)

// rig is approvals with a clock of their own.
type rig struct {
	*Approvals
	DB    *store.Store
	t     *testing.T
	now   time.Time
	owner beeos.User
	agent *beeos.Agent
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db")+"?durability=os")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.People.CreateUser(t.Context(), beeos.User{ID: "ann", Email: "ann@console.example", Name: "Ann", CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, DB: db, now: time.Now(), owner: beeos.User{ID: "ann"}, agent: &beeos.Agent{ID: "agent", OwnerID: "ann"}}
	r.Approvals = New(Options{Table: db.Approvals, Agents: db.Agents, Tools: db.Builtins, People: db.People, Cluster: db.Cluster, Now: func() time.Time { return r.now }, Web: "http://console.example/"})
	return r
}

func (r *rig) call(arguments string) ToolCall {
	return ToolCall{Agent: r.agent, Caller: "user:caller", Turn: "turn", Request: "r", Tool: "pay", Arguments: json.RawMessage(arguments)}
}

// ask stores a question as awaitDecision does, without waiting for the answer.
func (r *rig) ask(call ToolCall) (approvals.Approval, error) {
	rule, err := r.findRule(r.t.Context(), &call)
	if err != nil {
		return approvals.Approval{}, err
	}
	a, _, err := r.storeRequest(r.t.Context(), &call, rule)
	return a, err
}

func (r *rig) request(arguments string) approvals.Approval {
	r.t.Helper()
	a, err := r.ask(r.call(arguments))
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) byOwner() Decider { return Decider{User: r.owner, Via: "rest"} }

// TestTwoDecideAtOnce: one decision, and both see it.
func TestTwoDecideAtOnce(t *testing.T) {
	r := newRig(t)
	a := r.request(`{}`)
	var states [2]approvals.State
	var errs [2]error
	var g errgroup.Group
	for i, by := range []Decider{r.byOwner(), {User: beeos.User{ID: "boss", Admin: true}, Via: "console"}} {
		g.Go(func() error {
			row, err := r.Decide(t.Context(), a.ID, by, i == 0, "")
			states[i], errs[i] = row.State, err
			return nil
		})
	}
	g.Wait() //nolint:errcheck // none of them returns one
	if states[0] != states[1] || (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("%v %v", states, errs)
	}
	for _, err := range errs {
		if err != nil && beeos.CodeOf(err) != beeos.Conflict {
			t.Error(err)
		}
	}
}

func TestWhoMayDecide(t *testing.T) {
	for _, c := range []struct {
		name string
		by   Decider
		want beeos.Code
	}{
		{"owner", Decider{User: beeos.User{ID: "ann"}}, ""},
		{"admin", Decider{User: beeos.User{ID: "boss", Admin: true}}, ""},
		{"somebody", Decider{User: beeos.User{ID: "bob"}}, beeos.NotFound},
		{"nobody", Decider{}, beeos.NotFound},
		{"admin who is locked out", Decider{User: beeos.User{ID: "boss", Admin: true, DisabledAt: time.Now()}}, beeos.NotFound},
		{"link of another approval", Decider{link: "other"}, beeos.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			a := r.request(`{}`)
			_, err := r.Decide(t.Context(), a.ID, c.by, true, "")
			if (c.want == "") != (err == nil) || err != nil && beeos.CodeOf(err) != c.want {
				t.Error(err)
			}
		})
	}
}

// TestNobodyDecides: after five minutes it is a no, also for who comes late.
func TestNobodyDecides(t *testing.T) {
	r := newRig(t)
	a := r.request(`{}`)
	r.now = r.now.Add(Timeout)
	if open, err := r.Open(t.Context(), "ann", 10); err != nil || len(open) != 0 {
		t.Error(open, err)
	}
	if _, err := r.Decide(t.Context(), a.ID, r.byOwner(), true, ""); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("decided too late: %v", err)
	}
	got, err := r.awaitDecision(t.Context(), r.call(`{}`), func(a approvals.Approval, _ bool) (approvals.Approval, error) {
		t.Error("asked again")
		return a, nil
	})
	if err != nil || got.Approved || !got.Expired {
		t.Errorf("%+v %v", got, err)
	}
}

// TestArgumentsChanged: what was approved cannot be used for anything else.
func TestArgumentsChanged(t *testing.T) {
	r := newRig(t)
	a := r.request(`{"amount": 1}`)
	if _, err := r.Decide(t.Context(), a.ID, r.byOwner(), true, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.useUp(t.Context(), a.ID, r.call(`{"amount": 1000}`)); beeos.CodeOf(err) != beeos.Forbidden || !strings.Contains(err.Error(), "other arguments") {
		t.Errorf("changed arguments: %v", err)
	}
	if err := r.useUp(t.Context(), a.ID, r.call(`{"amount": 1}`)); err != nil {
		t.Error(err)
	}
}

// TestRulesChanged: an approval is no good under other rules.
func TestRulesChanged(t *testing.T) {
	r := newRig(t)
	a := r.request(`{}`)
	if _, err := r.Decide(t.Context(), a.ID, r.byOwner(), true, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.SetRules(t.Context(), r.agent, r.owner, []approvals.Rule{{Tool: "pay", Mode: approvals.ModeAsk}}); err != nil {
		t.Fatal(err)
	}
	if err := r.useUp(t.Context(), a.ID, r.call(`{}`)); beeos.CodeOf(err) != beeos.Forbidden {
		t.Errorf("used by other rules: %v", err)
	}
	asked := errors.New("asked")
	_, err := r.awaitDecision(t.Context(), r.call(`{}`), func(b approvals.Approval, fresh bool) (approvals.Approval, error) {
		if !fresh || b.ID == a.ID {
			t.Error("the old approval is taken for the new question")
		}
		return b, asked
	})
	if !errors.Is(err, asked) {
		t.Errorf("not asked again: %v", err)
	}
}

func TestBadRules(t *testing.T) {
	r := newRig(t)
	for _, bad := range []approvals.Rule{
		{Mode: "perhaps"},
		{Timeout: time.Second},
		{Timeout: 24 * time.Hour},
		{Tool: "pay", Timeout: time.Minute},
		{Tool: strings.Repeat("x", 300), Mode: approvals.ModeAsk},
	} {
		if err := r.SetRules(t.Context(), r.agent, r.owner, []approvals.Rule{bad}); beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestTimeToDecide: the owner's rule counts, but no longer than the turn.
func TestTimeToDecide(t *testing.T) {
	r := newRig(t)
	if err := r.SetRules(t.Context(), r.agent, r.owner, []approvals.Rule{{Timeout: 30 * time.Minute}}); err != nil {
		t.Fatal(err)
	}
	if a := r.request(`{}`); !a.Open() || a.ExpiresAt.Sub(a.CreatedAt) != 30*time.Minute {
		t.Errorf("%+v", a)
	}
	call := r.call(`[]`)
	call.Deadline = r.now.Add(time.Minute)
	if a, err := r.ask(call); err != nil || a.ExpiresAt.Sub(a.CreatedAt) != time.Minute {
		t.Errorf("%+v %v", a, err)
	}
}

// TestLinksThatAreSent: to the agent's owner, about that turn, while it waits.
func TestLinksThatAreSent(t *testing.T) {
	r := newRig(t)
	a := r.request(`{}`)
	owner := "user:" + a.OwnerID
	for name, c := range map[string]struct {
		id, turn, to string
		want         bool
	}{
		"the owner":       {a.ID, a.Turn, owner, true},
		"another caller":  {a.ID, a.Turn, "user:somebody", false},
		"a key":           {a.ID, a.Turn, "key:" + a.OwnerID, false},
		"another turn":    {a.ID, "another", owner, false},
		"no such thing":   {"nothing", a.Turn, owner, false},
		"an empty person": {a.ID, a.Turn, "user:", false},
	} {
		link, err := r.LinkFor(t.Context(), c.id, c.turn, c.to)
		if err != nil || (link != "") != c.want {
			t.Errorf("%s: %q, %v", name, link, err)
		}
	}
	r.now = r.now.Add(Timeout)
	if link, err := r.LinkFor(t.Context(), a.ID, a.Turn, owner); err != nil || link != "" {
		t.Errorf("too late: %q, %v", link, err)
	}
}

func TestLinks(t *testing.T) {
	r := newRig(t)
	a, other := r.request(`{}`), r.request(`[]`)
	link, err := r.Link(t.Context(), &a, "ann")
	if err != nil {
		t.Fatal(err)
	}
	token, ok := strings.CutPrefix(link, "http://console.example/approve?token=")
	if !ok {
		t.Fatal(link)
	}
	for _, bad := range []string{"", "x", token + "x", token[:len(token)-2], strings.Replace(token, a.ID, other.ID, 1)} {
		if _, _, err := r.FindByLink(t.Context(), bad); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("token %q: %v", bad, err)
		}
	}
	by, found, err := r.FindByLink(t.Context(), token)
	if err != nil || found.ID != a.ID || !found.Open() {
		t.Fatalf("%+v %v", found, err)
	}
	if _, err := r.Decide(t.Context(), other.ID, by, true, ""); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("a link decides another approval: %v", err)
	}
	if got, err := r.Decide(t.Context(), a.ID, by, true, ""); err != nil || got.DecidedBy != "link" || got.Via != "link" {
		t.Fatalf("%+v %v", got, err)
	}
	if _, err := r.Decide(t.Context(), a.ID, by, false, ""); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("a link works twice: %v", err)
	}
	if _, err := r.Link(t.Context(), &approvals.Approval{State: approvals.Approved}, "ann"); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("a link for what is decided: %v", err)
	}
	r.now = r.now.Add(Timeout + 2*time.Second)
	if _, _, err := r.FindByLink(t.Context(), token); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("a link that is too old: %v", err)
	}
}

func TestShown(t *testing.T) {
	got := FormatArguments(json.RawMessage("{\"to\":\"\u202egnp\",\"n\":1e400,\"esc\":\"\\u001b[2J\"}"))
	want := "{\n  \"to\": \"⟨U+202E⟩gnp\",\n  \"n\": 1e400,\n  \"esc\": \"\\u001b[2J\"\n}"
	if got != want {
		t.Errorf("got %s", got)
	}
}
