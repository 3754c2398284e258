package storetest

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/store/sessions"
	"github.com/beeos/beeos/internal/store/webhooks"
)

// Fill puts something into every table of the schema.
func Fill(t *testing.T, db *store.Store) {
	t.Helper()
	ctx := t.Context()
	u, inst := Owner(t, db, "a@example.com")
	id := Sync(t, db, inst, RawDefinition(), beeos.Definition{Name: "b"}).IDs()["b"]
	Sync(t, db, inst, RawDefinition(), beeos.Definition{Name: "b", Skills: []beeos.Skill{{Name: "gone"}}})
	Sync(t, db, inst, RawDefinition(), beeos.Definition{Name: "b"})
	_, token := db.Instances.CreateJoinToken(ctx, u.ID, time.Hour)
	_, secret := db.Cluster.Secret(ctx, "s", func() []byte { return []byte{0, 1, 255} })
	_, nonce := db.Cluster.UseNonce(ctx, "key", "nonce", time.Now())
	approval := fillApprovals(t, db, u)
	_, order := db.Cluster.HoldOrder(ctx, "bee.example.com", "node", database.Now(), database.Now().Add(time.Minute))
	certificate := db.Cluster.PutCertificate(ctx, "bee.example.com", []byte{0, 1, 255})
	_, quota := db.Cluster.DrawQuota(ctx, database.Now(), []cluster.Draw{{Credential: "k", Agent: id, PerMinute: 60, Want: 1}})
	_, budget := db.Budgets.Set(ctx, budgets.Budget{ID: "b", OwnerID: u.ID, Subject: budgets.Subject{Kind: budgets.OfAgent, ID: id}, Unit: budgets.Calls, Period: budgets.Day, Most: 9})
	channel := notifications.Channel{ID: "nch_1", OwnerID: u.ID, Kind: notifications.Webhook, Target: "https://example.com/", Sealed: []byte{0, 255}, CreatedAt: database.Now()}
	listed := db.Notifications.Create(ctx, channel, 10)
	_, told := db.Notifications.TellAsked(ctx, notifications.News{Approval: "a", Channel: channel}, outbox.Delivery{ID: "nd_1", Payload: []byte("{}")}, database.Now().Add(time.Minute), database.Now())
	err := errors.Join(token, secret, nonce, order, certificate, quota, approval, budget, listed, told,
		db.Approvals.SetRules(ctx, []approvals.Rule{{AgentID: id, Tool: "save_csv", Mode: approvals.ModeAsk, UpdatedAt: database.Now()}}),
		db.Keys.Create(ctx, beeos.Key{ID: "k", Kind: beeos.AgentKey, OwnerID: u.ID, AgentID: id}, HashOf("k")),
		db.Audit.Add(ctx, audit.Row{Actor: "a", Action: "b", Subject: "c", Detail: map[string]string{"d": "e"}}),
		db.Cluster.PutNode(ctx, cluster.Node{ID: "n", SeenAt: database.Now()}),
		db.Sessions.End(ctx, sessions.Ended{ID: "s", EndedAt: database.Now(), Expires: database.Now()}),
		db.Sessions.Subscribe(ctx, "o", "s", "note://a", database.Now()),
		db.Files.Create(ctx, files.File{ID: "f", Owner: "user:" + u.ID, OwnerID: u.ID, Filename: "a", ContentType: "text/plain", CreatedAt: database.Now(), ExpiresAt: database.Now()}))
	if err != nil {
		t.Fatal(err)
	}
	fillPeople(t, db, u)
	Granted(t, db, u, "c", id)
	err = errors.Join(
		db.Grants.AddSigningKey(ctx, grants.SigningKey{ID: "k", Secret: []byte{0, 255}, CreatedAt: database.Now()}, database.Now(), true),
		db.Grants.CreateClient(ctx, grants.Client{ID: "c", RedirectURIs: []string{"https://app.example/cb"}}, 10),
		db.Grants.BeginFlow(ctx, grants.Flow{ID: "t", Binder: HashOf("b")}))
	if err != nil {
		t.Fatal(err)
	}
	News(t, db, Webhook(t, db, "m1", "https://example.com/"), 2)
	fillSkills(t, db)
	fillLedger(t, db)
}

// fillApprovals makes an approval that one of two reviewers has said yes to, and a yes
// for more than one call.
func fillApprovals(t *testing.T, db *store.Store, u beeos.User) error {
	t.Helper()
	q := Question(u.ID, "m1", `{"a": 1}`, database.Now())
	q.Need, q.Reviewers = 2, []approvals.Reviewer{{UserID: u.ID, Since: q.CreatedAt}}
	once := Question(u.ID, "m2", `{"a": 1}`, database.Now())
	_, _, first := db.Approvals.Ask(t.Context(), q, "r")
	_, _, second := db.Approvals.Ask(t.Context(), once, "r")
	_, _, vote := db.Approvals.Decide(t.Context(), approvals.Verdict{ID: q.ID, State: approvals.Approved, By: "user:" + u.ID, UserID: u.ID, At: database.Now()})
	lasting := approvals.Verdict{ID: once.ID, State: approvals.Approved, By: "user:" + u.ID, UserID: u.ID, At: database.Now(), Lasts: approvals.Lasts{For: time.Hour}}
	_, _, grant := db.Approvals.Decide(t.Context(), lasting)
	return errors.Join(first, second, vote, grant)
}

// fillLedger writes rows as the ledger does, many of them, so that the copy
// needs several batches.
func fillLedger(t *testing.T, db *store.Store) {
	t.Helper()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO channels (id, agent_id, owner, kind, single_shot, closed_reason, next_off, deadline, metadata, created_at, updated_at)
		VALUES ('c', 'agent', 'user:u', 'chat', TRUE, '', 1235, 0, '{}', 1, 2)`)
	var rows []string
	for off := range 1234 {
		rows = append(rows, fmt.Sprintf("('c', %d, 'm%d', 'agent_reply', 'r%d', %v, '', '', '', 'body', '', '', 9007199254740993)", off+1, off, off, off%2 == 0))
	}
	exec("INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at) VALUES " + strings.Join(rows, ", "))
	exec("INSERT INTO idempotency (scope, key, turn, channel, fingerprint, expires_at) VALUES ('s', 'k', 'm1', 'c', $1, 3)", []byte{0xff, 0})
	exec("INSERT INTO usage (route, day, model, slot, answers, input, output, micros, unpriced) VALUES (1, 20000, 'm', 7, 1, 2, 3, 4, 5)")
	exec("INSERT INTO routes (id, agent_id, caller, surface, tool, seen_at) VALUES (1, 'a', 'user:u', 'mcp', 'add', 4)")
	exec(`INSERT INTO series (agent_id, minutes, at, slot, calls, problems, input, output, micros, unpriced, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17, t18, t19)
		VALUES ('a', 5, 29000000, 7, 3, 1, 2, 3, 4, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0)`)
	exec("INSERT INTO replays (replay, original, at) VALUES ('m3', 'm1', 6)")
	exec(`INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline, trace)
		VALUES ('m1', 'c', 1, 'agent', '', 1, FALSE, 0, 0, TRUE, 'push', 'always', 0, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')`)
}

// fillPeople puts something into every table of how people get in.
func fillPeople(t *testing.T, db *store.Store, u beeos.User) {
	t.Helper()
	ctx := t.Context()
	_, _, identity := db.People.LinkIdentity(ctx, people.Identity{Issuer: "https://id.example", Subject: "s", Email: u.Email}, beeos.User{}, database.Now())
	err := errors.Join(identity,
		db.People.CreateLogin(ctx, people.Login{ID: "l", UserID: u.ID, CreatedAt: database.Now(), SeenAt: database.Now(), ExpiresAt: database.Now()}, HashOf("l")),
		db.People.CreateLink(ctx, people.Link{ID: "i", Kind: people.InviteLink, Email: "x@example.com", Admin: true, CreatedAt: database.Now(), ExpiresAt: database.Now()}, HashOf("i")),
		db.People.CountAttempt(ctx, []*people.Attempt{{Hash: HashOf("account"), Wait: func(int) time.Duration { return 0 }}}, database.Now()))
	if err != nil {
		t.Fatal(err)
	}
}

// fillSkills writes a row into every table of skills.
func fillSkills(t *testing.T, db *store.Store) {
	t.Helper()
	ctx, b := t.Context(), Builtin(t, db, "helper")
	_, pinned := db.Builtins.PinSkillTools(ctx, b.ID, "s", []builtins.SkillTool{{Tool: "t", Hash: "1"}}, database.Now())
	UnderWay(t, db, "turn of "+b.ID)
	_, _, taken := db.Builtins.TakeStep(ctx, b.ID, builtins.Step{Turn: "turn of " + b.ID, Step: 1, Content: "{}"}, database.Now())
	err := errors.Join(pinned, taken, db.Builtins.PutSkillToken(ctx, b.ID, "s", "https://a", "https://as", []byte{0, 255}, database.Now()),
		db.Builtins.PutSkillConsent(ctx, "state", builtins.SkillConsent{BuiltinID: b.ID, Skill: "s", Sealed: []byte{1}}, database.Now()))
	if err != nil {
		t.Fatal(err)
	}
}

// RawDefinition has JSON in every place that an agent can put it, with all
// that json.Marshal would change.
func RawDefinition() beeos.Definition {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	text, no := "<text>", false
	object := raw("{ \"type\" : \"object\",\n\t\"z\": 1.0, \"a\": \"<&>\u2028\\u0041\\u0000\", \"n\": 1e400 }")
	return beeos.Definition{
		Name: "raw", Description: "say \"hi\" <b>", DeliveryMode: beeos.DeliverPush, Redelivery: beeos.RedeliverAlways, Lane: beeos.LaneSession,
		Capabilities: raw(`{ "streaming" : true }`),
		Skills: []beeos.Skill{
			{Name: "one", InputSchema: object, OutputSchema: object, Annotations: raw("{ }"), Icons: raw("[ ]"), Execution: raw(`{ "x":1 }`), Meta: raw(`{"k" :null}`), ExposeAsTool: &no, Tags: []string{"t"}},
			{Name: "two"},
		},
		Resources: []beeos.Resource{{URI: "file:///a", Name: "a", Text: &text, Annotations: raw(`{ "priority": 0.50 }`), Icons: raw("[ ]"), Meta: raw("{ }")}},
		Prompts:   []beeos.Prompt{{Name: "p", Arguments: []beeos.PromptArgument{{Name: "x", Required: true}}, Messages: raw("[ {} ]"), Icons: raw("[ ]"), Meta: raw("{ }")}},
	}
}

func Sync(t *testing.T, db *store.Store, inst beeos.Instance, defs ...beeos.Definition) agents.SyncResult {
	t.Helper()
	r, err := db.Agents.Sync(t.Context(), inst, defs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func Question(owner, turn, arguments string, at time.Time) approvals.Approval {
	return approvals.Approval{
		ID: beeos.NewID(), OwnerID: owner, AgentID: "agent", Caller: "user:caller", Channel: "ch", Turn: turn, Tool: "save_csv",
		Arguments: []byte(arguments), Hash: []byte("hash of " + arguments), PolicyVersion: "default", CreatedAt: at, ExpiresAt: at.Add(time.Minute),
	}
}

// Granted puts a grant, its code and its family into the store.
func Granted(t *testing.T, db *store.Store, u beeos.User, client string, agents ...string) (grants.Grant, grants.Family) {
	t.Helper()
	g := grants.Grant{ID: beeos.NewID(), UserID: u.ID, ClientID: client, ClientName: "App", ClientHost: "app.example", Agents: agents, CreatedAt: database.Now()}
	c := grants.Code{Hash: HashOf("code " + g.ID), FamilyID: beeos.NewID(), ClientID: client, ExpiresAt: database.Now().Add(time.Minute)}
	id, err := db.Grants.GrantOAuth(t.Context(), g, c, database.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	g.ID = id
	f, _, spent, err := db.Grants.RedeemOAuth(t.Context(), c.Hash, func(c grants.Code, g grants.Grant) (grants.Family, error) {
		return grants.Family{ID: c.FamilyID, GrantID: g.ID, UserID: g.UserID, ClientID: c.ClientID, Token: HashOf("t0"), RotatedAt: database.Now(), ExpiresAt: database.Now().Add(time.Hour)}, nil
	})
	if err != nil || spent != "" {
		t.Fatal(spent, err)
	}
	return g, f
}

func Webhook(t *testing.T, db *store.Store, turn, url string) webhooks.Webhook {
	t.Helper()
	w := webhooks.Webhook{
		ID: "wh_" + beeos.NewID(), Turn: turn, Channel: "ch-1", Owner: "user:u", Renderer: "openapi", URL: url,
		Seen: 1, Status: beeos.TaskQueued, Watching: true, CreatedAt: database.Now(),
	}
	kept, err := db.Webhooks.Put(t.Context(), w, 10, func(*webhooks.Webhook) ([]byte, error) { return []byte("sealed"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// News makes deliveries of a webhook, in order.
func News(t *testing.T, db *store.Store, w webhooks.Webhook, n int) (webhooks.Webhook, []string) {
	t.Helper()
	var list []outbox.Delivery
	var ids []string
	for i := range n {
		list = append(list, outbox.Delivery{ID: "whd_" + beeos.NewID(), Payload: fmt.Append(nil, i)})
		ids = append(ids, list[i].ID)
	}
	next := w
	next.Seen++
	moved, err := db.Webhooks.Advance(t.Context(), w, next, list, database.Now())
	if err != nil || !moved {
		t.Fatalf("advance: %v, %v", moved, err)
	}
	next.Events += int64(n)
	return next, ids
}

// Builtin keeps a built-in agent for a new user.
func Builtin(t *testing.T, db *store.Store, name string) builtins.Builtin {
	t.Helper()
	u := beeos.User{ID: beeos.NewID(), Email: beeos.NewID() + "@x", CreatedAt: database.Now()}
	if err := db.People.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	public, _, _ := ed25519.GenerateKey(nil)
	b := builtins.Builtin{ID: beeos.NewID(), OwnerID: u.ID, Name: name, Definition: `{"model":"m"}`, Sealed: []byte{0, 1, 255}, CreatedAt: database.Now(), UpdatedAt: database.Now()}
	if err := db.Builtins.Create(t.Context(), b, public); err != nil {
		t.Fatal(err)
	}
	return b
}

// UnderWay makes a request that nobody has answered yet.
func UnderWay(t *testing.T, db *store.Store, turn string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `INSERT INTO deliveries (turn, channel, off, agent_id, lane, seq, leased, attempt, lease_until, started, mode, redelivery, deadline)
		VALUES ($1, 'c', 1, 'a', '', 1, TRUE, 1, 0, FALSE, 'stream', 'always', 0)`, turn)
	if err != nil {
		t.Fatal(err)
	}
}
