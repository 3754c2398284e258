package act_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/test/enginetest"
)

// rig is a database with an owner who has an agent, and somebody else.
type rig struct {
	*act.Acts
	t        *testing.T
	owner    beeos.User
	stranger beeos.User
	agent    string
	instance string
	told     []bus.Control
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db, b, l := enginetest.Open(t)
	return newRigOn(t, db, b, l)
}

func newRigOn(t *testing.T, db *store.Store, b *bus.Bus, l *ledger.Ledger) *rig {
	t.Helper()
	ctx := t.Context()
	r := &rig{t: t, Acts: act.New(act.Options{DB: db, Bus: b, Ledger: l, People: &signin.People{Table: db.People, Audit: db.Audit}})}
	b.OnControl(func(c bus.Control) { r.told = append(r.told, c) })
	r.owner = r.user("owner", true)
	r.stranger = r.user("stranger", false)
	inst := beeos.Instance{ID: beeos.NewID(), OwnerID: r.owner.ID, Name: "machine", PublicKey: []byte(strings.Repeat("k", 32))}
	if err := db.Instances.Create(ctx, inst); err != nil {
		t.Fatal(err)
	}
	res, err := db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "clerk"}})
	if err != nil {
		t.Fatal(err)
	}
	r.agent, r.instance = res.IDs()["clerk"], inst.ID
	return r
}

func (r *rig) user(name string, admin bool) beeos.User {
	r.t.Helper()
	u := beeos.User{ID: beeos.NewID(), Email: name + "@example.com", Name: name, Admin: admin, PasswordHash: "x", CreatedAt: time.Now()}
	if err := r.DB.People.CreateUser(r.t.Context(), u); err != nil {
		r.t.Fatal(err)
	}
	return u
}

func by(u beeos.User) beeos.Caller { return beeos.Caller{Kind: beeos.BySession, UserID: u.ID} }

// actions lists what a person's trail holds, the oldest first.
func (r *rig) actions(u beeos.User) string {
	r.t.Helper()
	rows, err := r.DB.Audit.List(r.t.Context(), u.ID, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []string
	for i := range rows {
		list = append(list, rows[len(rows)-1-i].Action)
	}
	return strings.Join(list, " ")
}

func wantCode(t *testing.T, err error, code beeos.Code, text string) {
	t.Helper()
	if beeos.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %s with %q", err, code, text)
	}
}

// everyAct does each act once, with empty hands.
func (r *rig) everyAct(ctx context.Context, c beeos.Caller) map[string]error {
	all := map[string]error{}
	_, all["update agent"] = r.UpdateAgent(ctx, c, r.agent, agents.Patch{})
	all["delete agent"] = r.DeleteAgent(ctx, c, r.agent)
	_, all["end instance"] = r.EndInstance(ctx, c, r.instance)
	_, _, all["deploy"] = r.Deploy(ctx, c, builtin.Definition{Name: "x"}, nil, false)
	_, all["create built-in"] = r.CreateBuiltin(ctx, c, builtin.Definition{Name: "x"})
	all["change built-in"] = r.ChangeBuiltin(ctx, c, r.instance, func(*builtin.Definition) error { return nil })
	all["start"] = r.StartBuiltin(ctx, c, r.instance)
	all["stop"] = r.StopBuiltin(ctx, c, r.instance)
	all["restart"] = r.RestartBuiltin(ctx, c, r.instance)
	all["connect skill"] = r.ConnectSkill(ctx, c, r.instance, skill.Server{}, skill.Secrets{})
	all["disconnect skill"] = r.DisconnectSkill(ctx, c, r.instance, "x")
	_, all["authorize skill"] = r.AuthorizeSkill(ctx, c, nil)
	all["forget skill"] = r.ForgetSkill(ctx, c, r.instance, "x")
	all["accept tool"] = r.AcceptTool(ctx, c, r.instance, "x", "y")
	_, all["list keys"] = r.Keys(ctx, c, "", "")
	_, _, all["create key"] = r.CreateKey(ctx, c, beeos.Key{Name: "k"})
	_, _, all["create agent key"] = r.CreateKey(ctx, c, beeos.Key{Name: "k", AgentID: r.agent})
	_, all["limit key"] = r.LimitKey(ctx, c, "", "x", 1)
	_, all["limit agent key"] = r.LimitKey(ctx, c, r.agent, "x", 1)
	all["revoke key"] = r.RevokeKey(ctx, c, "", "x")
	_, _, all["join token"] = r.CreateJoinToken(ctx, c, time.Hour)
	all["rules"] = r.SetRules(ctx, c, r.agent, nil)
	_, all["link"] = r.LinkApproval(ctx, c, &approvals.Approval{})
	_, all["webhook"] = r.RegisterWebhook(ctx, c, &task.Task{Caller: "user:" + r.owner.ID}, webhook.Registration{})
	all["drop webhook"] = r.DeleteWebhook(ctx, c, webhooks.Webhook{Owner: "user:" + r.owner.ID})
	_, all["list channels"] = r.Channels(ctx, c)
	_, _, all["create channel"] = r.CreateChannel(ctx, c, notify.Setup{})
	all["delete channel"] = r.DeleteChannel(ctx, c, "nch_1")
	_, all["test channel"] = r.TestChannel(ctx, c, "nch_1")
	_, all["channel deliveries"] = r.ChannelDeliveries(ctx, c, "nch_1", 1)
	_, all["redeliver to channel"] = r.RedeliverToChannel(ctx, c, "nch_1", "nd_1")
	ch := beeos.Channel{Owner: "user:" + r.owner.ID}
	all["rename conversation"] = r.RenameConversation(ctx, c, ch, "x")
	all["delete conversation"] = r.DeleteConversation(ctx, c, ch)
	_, all["clear conversation"] = r.ClearConversation(ctx, c, ch)
	all["model"] = r.SetConversationModel(ctx, c, ch, "x")
	_, all["replay"] = r.ReplayCall(ctx, c, act.Replay{Call: beeos.NewID()})
	_, all["create user"] = r.CreateUser(ctx, c, "x", "x@example.com")
	_, all["invite"] = r.InviteUser(ctx, c, "x@example.com", true)
	all["withdraw"] = r.WithdrawInvitation(ctx, c, "x")
	_, all["reset"] = r.ResetPassword(ctx, c, r.owner.ID)
	all["disable"] = r.SetDisabled(ctx, c, r.owner.ID, true)
	all["admin"] = r.SetAdmin(ctx, c, r.owner.ID, false)
	all["sign out"] = r.SignOutEverywhere(ctx, c, r.owner.ID)
	all["narrow"] = r.NarrowGrant(ctx, c, "x", nil)
	all["revoke grant"] = r.RevokeGrant(ctx, c, "x")
	all["rotate"] = r.RotateSigningKey(ctx, c)
	return all
}

// TestOnlyPeopleAct: the key of an agent, an app, and a kind of credential that
// the package has never heard of do nothing, even in the owner's name.
func TestOnlyPeopleAct(t *testing.T) {
	for _, kind := range []beeos.CredentialKind{"", beeos.ByAgentKey, beeos.ByOAuth, "a new kind"} {
		r := newRig(t)
		c := beeos.Caller{Kind: kind, UserID: r.owner.ID, CredentialID: "k", AgentID: r.agent, AgentIDs: []string{r.agent}, AllAgents: true}
		for name, err := range r.everyAct(t.Context(), c) {
			if code := beeos.CodeOf(err); code != beeos.Unauthorized && code != beeos.Forbidden && code != beeos.NotFound {
				t.Errorf("%q, %s: %v", kind, name, err)
			}
		}
		if got := r.actions(r.owner); got != "" || len(r.told) != 0 {
			t.Errorf("%q: wrote %q, told %v", kind, got, r.told)
		}
	}
}

func TestOwnAgent(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	_, err := r.OwnAgent(ctx, by(r.stranger), r.agent)
	wantCode(t, err, beeos.AgentNotFound, "list your agents")
	public := beeos.VisiblePublic
	if _, err := r.UpdateAgent(ctx, by(r.owner), r.agent, agents.Patch{Visibility: &public}); err != nil {
		t.Fatal(err)
	}
	_, err = r.OwnAgent(ctx, by(r.stranger), r.agent)
	wantCode(t, err, beeos.Forbidden, "only the owner")
	if _, err := r.OwnAgent(ctx, act.OperatorFor(""), r.agent); err != nil {
		t.Error(err)
	}
	_, err = r.EndInstance(ctx, by(r.stranger), r.instance)
	wantCode(t, err, beeos.NotFound, "list your instances")
	if deleted, err := r.EndInstance(ctx, by(r.owner), r.instance); err != nil || deleted {
		t.Errorf("%v, %v", deleted, err)
	}
	want := []bus.Control{{Kind: bus.AgentChanged, AgentID: r.agent}, {Kind: bus.KeyRevoked, ID: r.instance}, {Kind: bus.AgentChanged, AgentID: r.agent}}
	if diff := cmp.Diff(want, r.told); diff != "" {
		t.Error(diff)
	}
	if got := r.actions(r.owner); got != "agent.update instance.revoke" {
		t.Error(got)
	}
}

func TestOnlyAdminsManage(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	ann, bob := by(r.owner), by(r.stranger)
	_, invite := r.InviteUser(ctx, bob, "x@example.com", true)
	_, reset := r.ResetPassword(ctx, bob, r.owner.ID)
	for _, err := range []error{
		invite, reset, r.SetAdmin(ctx, bob, bob.UserID, true), r.SetDisabled(ctx, bob, ann.UserID, true),
		r.WithdrawInvitation(ctx, bob, "x"), r.SignOutEverywhere(ctx, bob, ann.UserID), r.RotateSigningKey(ctx, bob),
	} {
		wantCode(t, err, beeos.Forbidden, "ask one")
	}
	if err := r.SignOutEverywhere(ctx, bob, bob.UserID); err != nil {
		t.Errorf("his own sessions: %v", err)
	}
	if err := r.SetAdmin(ctx, ann, bob.UserID, true); err != nil {
		t.Fatal(err)
	}
	if err := r.SetDisabled(ctx, ann, bob.UserID, true); err != nil {
		t.Fatal(err)
	}
	_, err := r.InviteUser(ctx, bob, "x@example.com", true)
	wantCode(t, err, beeos.Forbidden, "ask one") // an admin who is locked out is none
	if _, err := r.InviteUser(ctx, ann, "carl@example.com", false); err != nil {
		t.Fatal(err)
	}
	open, err := r.People.ListInvitations(ctx)
	if len(open) != 1 || err != nil {
		t.Fatalf("%v, %v", open, err)
	}
	if err := r.WithdrawInvitation(ctx, ann, open[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := r.actions(r.stranger); got != "user.sign_out_everywhere user.admin user.disable" {
		t.Error(got)
	}
	if got := r.actions(r.owner); got != "user.invite user.withdraw" {
		t.Error(got)
	}
	rows, err := r.DB.Audit.List(ctx, r.owner.ID, 10)
	if err != nil || rows[0].Subject != open[0].ID || rows[1].Subject != open[0].ID || rows[1].Detail["email"] != "carl@example.com" {
		t.Errorf("%+v, %v", rows, err)
	}
}
