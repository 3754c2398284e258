package verify

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/wire/seal"
)

// world is a server's data with something of every kind that is looked at.
type world struct {
	t      *testing.T
	db     *store.Store
	ledger *ledger.Ledger
	blobs  *blob.Disk
	folder string // of the files
	agent  string

	done    *ledger.Opening // has its reply, with another one refused behind it
	waiting *ledger.Opening // has been asked, and was asked back
	first   *ledger.Opening // of two in one lane
	second  *ledger.Opening
	file    string
	webhook string
	builtin string
	channel string // of notifications
	cert    string
}

func newWorld(t *testing.T, db *store.Store) *world {
	t.Helper()
	w := &world{t: t, db: db, folder: filepath.Join(t.TempDir(), "files")}
	u, inst := storetest.Owner(t, db, "a@example.com")
	w.agent = storetest.Sync(t, db, inst, beeos.Definition{Name: "a"}).IDs()["a"]
	var err error
	if w.ledger, err = ledger.Open(t.Context(), db.DB, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.ledger.Close)
	w.fillLedger()
	w.fillFiles(u)
	w.fillSecrets()
	return w
}

func (w *world) fillLedger() {
	w.done = w.ask("", beeos.DeliverPush, true)
	w.finish(w.done)
	if _, err := w.ledger.Finish(w.t.Context(), finalReply(w.done)); !errors.Is(err, ledger.ErrTerminal) {
		w.t.Fatalf("a second reply: %v", err)
	}
	w.waiting = w.ask("", beeos.DeliverPush, false)
	asksBack := beeos.Message{Channel: w.waiting.Channel.ID, InReplyTo: w.waiting.Message.ID, Type: beeos.AgentReasoning, Body: "hm"}
	for _, kind := range []beeos.MessageType{beeos.AgentReasoning, beeos.AgentInputRequired} {
		asksBack.ID, asksBack.Type = "", kind
		if _, err := w.ledger.Append(w.t.Context(), asksBack); err != nil {
			w.t.Fatal(err)
		}
	}
	w.first, w.second = w.ask(w.agent, beeos.DeliverQueue, true), w.ask(w.agent, beeos.DeliverQueue, true)
	claimed, err := w.ledger.ClaimDeliveries(w.t.Context(), w.agent, time.Now().Add(time.Minute), 10)
	if err != nil || len(claimed) != 1 || claimed[0].Turn != w.first.Message.ID {
		w.t.Fatalf("claimed %+v, %v", claimed, err)
	}
}

// ask stores a request.
func (w *world) ask(lane string, mode beeos.DeliveryMode, fresh bool) *ledger.Opening {
	w.t.Helper()
	ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: w.agent, Owner: "user:u", Kind: beeos.KindConversation, SingleShot: fresh}
	o := &ledger.Opening{
		Channel: ch, Fresh: fresh, Surface: "rest",
		Message:  beeos.Message{ID: beeos.NewID(), Channel: ch.ID, Publisher: ch.Owner, Body: "hello"},
		Delivery: &ledger.Delivery{AgentID: w.agent, Lane: lane, Mode: mode, Redelivery: beeos.RedeliverAlways, LeaseUntil: time.Now().Add(time.Minute)},
	}
	if _, _, err := w.ledger.BeginRequest(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) finish(o *ledger.Opening) {
	w.t.Helper()
	if _, err := w.ledger.Finish(w.t.Context(), finalReply(o)); err != nil {
		w.t.Fatal(err)
	}
}

func finalReply(o *ledger.Opening) beeos.Message {
	return beeos.Message{ID: beeos.NewID(), Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "hi"}
}

func (w *world) fillFiles(u beeos.User) {
	disk, err := blob.OpenDisk(w.folder)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { disk.Close() })
	w.blobs = disk
	w.file = w.store(u, "file_1", time.Now().Add(time.Hour))
	gone := w.store(u, "file_2", time.Now().Add(-time.Second)) // the server has just removed its bytes
	if err := disk.Delete(w.t.Context(), gone); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) store(u beeos.User, id string, until time.Time) string {
	w.t.Helper()
	ctx := w.t.Context()
	size, sum, err := w.blobs.Put(ctx, id, strings.NewReader("some bytes"), 100)
	err = errors.Join(err,
		w.db.Files.Create(ctx, files.File{ID: id, Owner: "user:" + u.ID, OwnerID: u.ID, Filename: "a", ContentType: "text/plain", CreatedAt: database.Now(), ExpiresAt: time.Now().Add(time.Hour)}),
		w.db.Files.Claim(ctx, id, "claim", time.Now(), time.Now().Add(time.Hour)),
		w.db.Files.MarkStored(ctx, files.File{ID: id, Size: size, SHA256: sum, ExpiresAt: until}, "claim"))
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) fillSecrets() {
	ctx := w.t.Context()
	sealer := func(name string) *seal.Sealer {
		key, err := w.db.Cluster.Secret(ctx, name, seal.NewKey)
		if err != nil {
			w.t.Fatal(err)
		}
		s, err := seal.New(key)
		if err != nil {
			w.t.Fatal(err)
		}
		return s
	}
	hook := webhooks.Webhook{ID: "wh_1", Turn: w.waiting.Message.ID, Channel: w.waiting.Channel.ID, Owner: "user:u", Renderer: "openapi", URL: "https://example.com", Watching: true, CreatedAt: database.Now()}
	forWebhooks, forSkills := sealer(webhooks.SealedWith), sealer(builtins.SealedWith)
	_, err := w.db.Webhooks.Put(ctx, hook, 10, func(*webhooks.Webhook) ([]byte, error) { return forWebhooks.SealJSON("token", hook.ID) })
	w.webhook = hook.ID
	b := storetest.Builtin(w.t, w.db, "helper")
	was := b.UpdatedAt
	b.Sealed, b.UpdatedAt = forSkills.Seal(nil, []byte("{}"), b.ID), database.Now()
	_, changed := w.db.Builtins.Update(ctx, b, was)
	token := forSkills.Seal(nil, []byte("{}"), builtins.TokenPlace(b.ID, "s", "https://a"))
	w.builtin = b.ID
	if err := errors.Join(err, changed, w.db.Builtins.PutSkillToken(ctx, b.ID, "s", "https://a", "https://as", token, database.Now())); err != nil {
		w.t.Fatal(err)
	}
	consent := forSkills.Seal(nil, []byte("{}"), builtins.ConsentPlace(b.ID, "s"))
	told := notifications.Channel{ID: "nc_1", OwnerID: "u", Kind: notifications.Slack, Target: "U1", CreatedAt: database.Now()}
	told.Sealed = sealer(notifications.SealedWith).Seal(nil, []byte("{}"), told.ID)
	w.channel, w.cert = told.ID, "bee.example.com"
	if err := errors.Join(
		w.db.Builtins.PutSkillConsent(ctx, "state", builtins.SkillConsent{BuiltinID: b.ID, Skill: "s", Sealed: consent}, time.Now().Add(time.Hour)),
		w.db.Notifications.Create(ctx, told, 10),
		w.db.Cluster.PutCertificate(ctx, w.cert, sealer(cluster.CertificatesSealedWith).Seal(nil, []byte("pem"), cluster.CertificatePlace(w.cert))),
	); err != nil {
		w.t.Fatal(err)
	}
}

// verifyDamaged does damage, verifies, and takes the damage back.
func (w *world) verifyDamaged(damage ...string) Report {
	w.t.Helper()
	tx, err := w.db.BeginTx(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // that is what it is for
	for _, statement := range damage {
		res, err := tx.ExecContext(w.t.Context(), statement)
		if err != nil {
			w.t.Fatalf("%s: %v", statement, err)
		}
		if n, err := res.RowsAffected(); err == nil && n == 0 && !strings.HasPrefix(statement, "DROP") {
			w.t.Fatalf("%s: it met no row", statement)
		}
	}
	return w.run(tx)
}

func (w *world) run(tx *sql.Tx) Report {
	w.t.Helper()
	report, err := run(w.t.Context(), tx, w.db.Postgres, Options{Blobs: w.blobs})
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// wantFinding: the damage is found, with the id and words, and all that is told
// comes of it.
func wantFinding(t *testing.T, r Report, id, words string) {
	t.Helper()
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.ID == id && strings.Contains(f.Problem, words) }) {
		t.Errorf("nothing was told of %s with %q: %+v", id, words, r.Findings)
	}
}

func TestSoundLedgerIsClean(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		w := newWorld(t, db)
		report, err := Run(t.Context(), db, Options{Blobs: w.blobs})
		if err != nil || !report.Clean() {
			t.Errorf("%+v, %v", report.Findings, err)
		}
		looked := ""
		for _, c := range report.Checks {
			looked += c.Name + ": " + c.Looked + "\n"
		}
		for _, words := range []string{"7 messages in 4 channels", "3 requests under way", "1 lane", "2 files", "6 sealed secrets"} {
			if !strings.Contains(looked, words) {
				t.Errorf("it does not say %q:\n%s", words, looked)
			}
		}
	})
}

// TestDamageIsFound does every kind of damage to the tables, one at a time.
func TestDamageIsFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		w := newWorld(t, db)
		quote := func(id string) string { return "'" + id + "'" }
		done, waiting, first, second := quote(w.done.Message.ID), quote(w.waiting.Message.ID), quote(w.first.Message.ID), quote(w.second.Message.ID)
		for _, tt := range []struct {
			name, id, words string
			damage          []string
		}{
			{"a message is lost", w.waiting.Channel.ID, "no message at offsets 2 to 2", []string{"DELETE FROM messages WHERE type = 'agent_reasoning' AND in_reply_to = " + waiting}},
			{"all messages of a channel are lost", w.waiting.Channel.ID, "holds no message", []string{"DELETE FROM messages WHERE channel = " + quote(w.waiting.Channel.ID)}},
			{"a channel counts from the beginning", w.done.Message.ID, "which has handed out those up to 0", []string{"UPDATE channels SET next_off = 1 WHERE id = " + quote(w.done.Channel.ID)}},
			{"a channel is lost", w.done.Channel.ID, "no channel", []string{"DELETE FROM channels WHERE id = " + quote(w.done.Channel.ID)}},
			{"a request has two replies", w.done.Message.ID, "a second final reply", []string{
				"DROP INDEX messages_terminal",
				"INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at) SELECT channel, 3, 'twice', type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at FROM messages WHERE terminal AND in_reply_to = " + done,
			}},
			{"a reply is lost", w.done.Message.ID, "no final reply", []string{"DELETE FROM messages WHERE terminal AND in_reply_to = " + done}},
			{"a reply is no end", w.done.Message.ID, "no final reply", []string{"UPDATE messages SET terminal = FALSE WHERE in_reply_to = " + done}},
			{"a reply answers nothing", w.done.Message.ID, "no final reply", []string{"UPDATE messages SET in_reply_to = 'nothing' WHERE terminal AND in_reply_to = " + done}},
			{"a delivery is lost", w.waiting.Message.ID, "not under way either", []string{"DELETE FROM deliveries WHERE turn = " + waiting}},
			{"a delivery stays", w.done.Message.ID, "still under way", []string{"UPDATE deliveries SET turn = " + done + ", channel = " + quote(w.done.Channel.ID) + ", off = 1 WHERE turn = " + waiting}},
			{"a delivery is of no request", "nothing", "no such request", []string{"UPDATE deliveries SET turn = 'nothing' WHERE turn = " + waiting}},
			{"a delivery is of another place", w.waiting.Message.ID, "no such request", []string{"UPDATE deliveries SET off = 7 WHERE turn = " + waiting}},
			{"a lane has two out", w.agent, "2 requests out at once", []string{"DROP INDEX deliveries_one_flight", "UPDATE deliveries SET leased = TRUE, attempt = 1 WHERE turn = " + second}},
			{"a lane is somebody else's", w.first.Message.ID, "not one of agent", []string{"UPDATE deliveries SET lane = 'elsewhere' WHERE turn = " + first}},
			{"a lease without an attempt", w.first.Message.ID, "never handed out", []string{"UPDATE deliveries SET attempt = 0 WHERE turn = " + first}},
			{"a lease without an end", w.first.Message.ID, "never ends", []string{"UPDATE deliveries SET lease_until = 0 WHERE turn = " + first}},
			{"less than no attempts", w.first.Message.ID, "attempt -1", []string{"UPDATE deliveries SET attempt = -1 WHERE turn = " + first}},
			{"a request for nobody", w.first.Message.ID, "agent nobody, which is not there", []string{"UPDATE deliveries SET agent_id = 'nobody' WHERE turn = " + first}},
			{"a route is lost", w.done.Message.ID, "which is not there", []string{"DELETE FROM routes"}},
			{"usage of a lost route", "route 99", "usage was counted", []string{"INSERT INTO usage (route, day, model, slot, answers, input, output, micros, unpriced) VALUES (99, 1, 'm', 1, 1, 1, 1, 1, 1)"}},
			{"another key seals", w.webhook, "credentials cannot be opened", []string{"UPDATE secrets SET value = (SELECT value FROM secrets WHERE name = 'skills') WHERE name = 'webhook credentials'"}},
			{"the key is lost", "skills", "is not there", []string{"DELETE FROM secrets WHERE name = 'skills'"}},
			{"a secret is another agent's", w.builtin, "token of skill s cannot be opened", []string{"UPDATE skill_tokens SET resource = 'https://b'"}},
			{"a consent is another agent's", w.builtin, "consent of skill other cannot be opened", []string{"UPDATE skill_consents SET skill = 'other'"}},
			{"a notification channel's secret is another one's", "nc_2", "secrets cannot be opened", []string{"UPDATE notification_channels SET id = 'nc_2' WHERE id = " + quote(w.channel)}},
			{"the key of notification channels is another one", w.channel, "secrets cannot be opened", []string{"UPDATE secrets SET value = (SELECT value FROM secrets WHERE name = 'skills') WHERE name = 'notification channels'"}},
			{"a certificate is another name's", "evil.example", "certificate cannot be opened", []string{"UPDATE certificates SET name = 'evil.example' WHERE name = " + quote(w.cert)}},
			{"the key of certificates is lost", "certificates", "is not there", []string{"DELETE FROM secrets WHERE name = 'certificates'"}},
			{"a file has another hash", w.file, "another one", []string{"UPDATE files SET sha256 = (SELECT value FROM secrets WHERE name = 'skills') WHERE id = 'file_1'"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				w.t = t
				wantFinding(t, w.verifyDamaged(tt.damage...), tt.id, tt.words)
			})
		}
		w.t = t
		if report, err := Run(t.Context(), db, Options{Blobs: w.blobs}); err != nil || !report.Clean() {
			t.Errorf("the damage was to be taken back: %+v, %v", report.Findings, err)
		}
	})
}

// TestDamagedFilesAreFound hurts the bytes themselves.
func TestDamagedFilesAreFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		w := newWorld(t, db)
		path := filepath.Join(w.folder, w.file)
		for _, tt := range []struct{ bytes, words string }{{"some byteS", "another one"}, {"some", "it has 4 bytes, and had 10"}, {"", "it has 0 bytes"}} {
			if err := os.WriteFile(path, []byte(tt.bytes), 0o600); err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), db, Options{Blobs: w.blobs})
			if err != nil {
				t.Fatal(err)
			}
			wantFinding(t, report, w.file, tt.words)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		report, err := Run(t.Context(), db, Options{Blobs: w.blobs})
		if err != nil {
			t.Fatal(err)
		}
		wantFinding(t, report, w.file, "not there")
		if report, err := Run(t.Context(), db, Options{}); err != nil || !report.Clean() {
			t.Errorf("without the bytes: %+v, %v", report.Findings, err)
		}
	})
}

// TestDamagedPagesAreFound overwrites a page of a SQLite file: an index, which no
// query need ever notice, and the table itself.
func TestDamagedPagesAreFound(t *testing.T) {
	for _, what := range []string{"messages_of_route", "messages"} {
		path := filepath.Join(t.TempDir(), "beeos.db")
		db := storetest.Open(t, "sqlite:"+path)
		newWorld(t, db).ledger.Close()
		root, err := database.GetValue[int64](t.Context(), db, "find the page", "SELECT rootpage FROM sqlite_master WHERE name = $1", what)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		const page = 4096
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte(strings.Repeat("\xff", page)), (root-1)*page)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		hurt, _, err := store.OpenUnchanged(t.Context(), "sqlite:"+path)
		if err != nil {
			t.Fatal(err)
		}
		report, err := Run(t.Context(), hurt, Options{})
		if err := errors.Join(err, hurt.Close()); err != nil || report.Clean() || report.Checks[0].Problems == 0 {
			t.Errorf("%s: %+v, %v", what, report, err)
		}
	}
}

// TestVerifyEndsWithItsContext: it may take long, and Ctrl-C ends it.
func TestVerifyEndsWithItsContext(t *testing.T) {
	db := storetest.Open(t, storetest.SQLiteURL(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, db, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
