package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
)

// called is one call of a service's API.
type called struct {
	method string
	body   map[string]any
}

// service stands in for Slack or Telegram, and refuses what their documentation does.
type service struct {
	*httptest.Server
	calls chan called

	mu   sync.Mutex
	next int
	have map[string]bool // messages, by what names them
}

func newService(t *testing.T, check func(s *service, r *http.Request, body map[string]any) any) *service {
	t.Helper()
	s := &service{calls: make(chan called, 100), have: map[string]bool{}, next: 100}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var body map[string]any
		if err != nil || json.Unmarshal(raw, &body) != nil || r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s %s: %s", r.Method, r.URL.Path, raw)
		}
		s.mu.Lock()
		answer := check(s, r, body)
		s.mu.Unlock()
		s.calls <- called{r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], body}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer) //nolint:errcheck // the client has gone
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) call(t *testing.T, method string) map[string]any {
	t.Helper()
	select {
	case c := <-s.calls:
		if c.method != method {
			t.Fatalf("called %s %v, want %s", c.method, c.body, method)
		}
		return c.body
	case <-time.After(within):
		t.Fatalf("%s was not called", method)
		return nil
	}
}

const (
	botToken = "xoxb-1-s3cret"
	signing  = "8f742231b10e8888abcd99yyyzzz85a5"
)

// slackDemands is chat.postMessage and chat.update as Slack documents them: the token
// in a header, text beside blocks, blocks of known limits, and for a change the
// conversation that a message went to, which is not the member it was for.
func slackDemands(s *service, r *http.Request, body map[string]any) any {
	refuse := func(code string) any { return object{"ok": false, "error": code} }
	text, _ := body["text"].(string)
	blocks, _ := body["blocks"].([]any)
	channel, _ := body["channel"].(string)
	switch {
	case r.Header.Get("Authorization") != "Bearer "+botToken:
		return refuse("invalid_auth")
	case text == "" || len(blocks) == 0 || len(blocks) > 50:
		return refuse("no_text")
	}
	for _, b := range blocks {
		block := b.(map[string]any)
		if block["type"] == "section" && len(block["text"].(map[string]any)["text"].(string)) > 3000 {
			return refuse("invalid_blocks")
		}
		elements, _ := block["elements"].([]any)
		for _, e := range elements {
			button := e.(map[string]any)
			style, styled := button["style"].(string)
			value, _ := button["value"].(string)
			if button["type"] != "button" || button["action_id"] == "" || len(value) > 2000 || styled && style != "primary" && style != "danger" {
				return refuse("invalid_blocks")
			}
		}
	}
	switch method := r.URL.Path; {
	case strings.HasSuffix(method, "/chat.postMessage"):
		stamp := fmt.Sprintf("1503435956.%06d", s.next)
		s.next++
		if thread, ok := body["thread_ts"].(string); ok && !s.have[channel+" "+thread] || !ok && channel != "U024BE7LH" {
			return refuse("channel_not_found")
		}
		s.have["D0PNCRP9N "+stamp] = true
		return object{"ok": true, "channel": "D0PNCRP9N", "ts": stamp}
	case strings.HasSuffix(method, "/chat.update"):
		stamp, _ := body["ts"].(string)
		if !s.have[channel+" "+stamp] {
			return refuse("message_not_found")
		}
		return object{"ok": true, "channel": channel, "ts": stamp}
	}
	return refuse("unknown_method")
}

// slackPress is what Slack posts when a member presses a button, and how it signs it.
func slackPress(member, action, value, secret string, at time.Time) (http.Header, []byte) {
	payload, _ := json.Marshal(object{"type": "block_actions", "user": object{"id": member}, "actions": []object{{"action_id": action, "value": value, "type": "button"}}})
	body := url.Values{"payload": {string(payload)}}.Encode()
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", stamp)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return h, []byte(body)
}

// TestSlackButtons: a member is asked with buttons; only theirs count, signed by Slack and
// fresh; one decides, and the message says so and has no buttons any more.
func TestSlackButtons(t *testing.T) {
	slack := newService(t, slackDemands)
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)), func(o *Options) { o.Slack, o.REST = slack.URL, "https://api.test/" })
	r.run(r.Notifier)
	c, made, err := r.Create(t.Context(), r.owner.ID, Setup{Kind: notifications.Slack, To: "U024BE7LH", Token: botToken, Secret: signing})
	if err != nil || made != "" || r.PressURL(&c) != "https://api.test/api/v1/notification-channels/"+c.ID+"/presses" {
		t.Fatalf("%+v %q %v", c, made, err)
	}
	a := r.ask("turn-1")
	asked := slack.call(t, "chat.postMessage")
	shown := fmt.Sprint(asked)
	for _, want := range []string{"The clerk", "pay", `"to": "bob"`, "•••", "http://console.test/approve?token=", "action_id:approve", "action_id:reject", "value:" + a.ID} {
		if !strings.Contains(shown, want) {
			t.Errorf("the message lacks %q: %s", want, shown)
		}
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	r.later(3 * time.Minute)
	if again := slack.call(t, "chat.postMessage"); again["thread_ts"] == nil || again["channel"] != "D0PNCRP9N" {
		t.Errorf("the reminder is %v", again)
	}

	press := func(member, action, value, secret string, at time.Time) error {
		header, body := slackPress(member, action, value, secret, at)
		_, err := r.Press(t.Context(), c.ID, header, body)
		return err
	}
	for name, err := range map[string]error{
		"another secret":  press("U024BE7LH", "approve", a.ID, "another secret of somebody", r.now()),
		"an old press":    press("U024BE7LH", "approve", a.ID, signing, r.now().Add(-6*time.Minute)),
		"from the future": press("U024BE7LH", "approve", a.ID, signing, r.now().Add(6*time.Minute)),
	} {
		if beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	header, body := slackPress("U024BE7LH", "approve", a.ID, signing, r.now())
	if _, err := r.Press(t.Context(), c.ID, header, []byte(strings.Replace(string(body), "approve", "reject", 1))); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("a changed body: %v", err)
	}
	for _, member := range []string{"U0SOMEBODY", ""} {
		if err := press(member, "approve", a.ID, signing, r.now()); err != nil {
			t.Error(err)
		}
	}
	if err := press("U024BE7LH", "open", "", signing, r.now()); err != nil {
		t.Error(err)
	}
	if row, err := r.db.Approvals.Get(t.Context(), a.ID); err != nil || !row.Open() {
		t.Fatalf("decided by what must not: %+v, %v", row, err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := press("U024BE7LH", []string{"approve", "reject"}[i%2], a.ID, signing, r.now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	row, err := r.db.Approvals.Get(t.Context(), a.ID)
	if err != nil || row.Open() || row.Via != "slack" || row.DecidedBy != "user:"+r.owner.ID {
		t.Errorf("%+v, %v", row, err)
	}
	ended := slack.call(t, "chat.update")
	if text := fmt.Sprint(ended); strings.Contains(text, "action_id") || !strings.Contains(strings.ToLower(text), string(row.State)+": pay") {
		t.Errorf("%s", text)
	}
	select {
	case c := <-slack.calls:
		t.Errorf("and %s %v", c.method, c.body)
	default:
	}
}

const telegramBot = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"

// telegramDemands is setWebhook, sendMessage and editMessageText as Telegram documents
// them.
func telegramDemands(s *service, r *http.Request, body map[string]any) any {
	refuse := func(text string) any { return object{"ok": false, "error_code": 400, "description": text} }
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+telegramBot+"/")
	if !ok {
		return refuse("Unauthorized")
	}
	if method == "setWebhook" {
		secret, _ := body["secret_token"].(string)
		address, _ := body["url"].(string)
		if !strings.HasPrefix(address, "https://") || !regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`).MatchString(secret) {
			return refuse("Bad Request: bad webhook")
		}
		return object{"ok": true, "result": true}
	}
	text, _ := body["text"].(string)
	if text == "" || len(text) > 4096 || body["chat_id"] != "42" {
		return refuse("Bad Request: chat not found")
	}
	if markup, ok := body["reply_markup"].(map[string]any); ok {
		for _, line := range markup["inline_keyboard"].([]any) {
			for _, b := range line.([]any) {
				if data := b.(map[string]any)["callback_data"].(string); data == "" || len(data) > 64 {
					return refuse("Bad Request: BUTTON_DATA_INVALID")
				}
			}
		}
	}
	switch method {
	case "sendMessage":
		s.next++
		s.have[strconv.Itoa(s.next)] = true
		return object{"ok": true, "result": object{"message_id": s.next}}
	case "editMessageText":
		if id, _ := body["message_id"].(float64); !s.have[strconv.Itoa(int(id))] {
			return refuse("Bad Request: message to edit not found")
		}
		return object{"ok": true, "result": object{"message_id": body["message_id"]}}
	}
	return refuse("Not Found")
}

// TestTelegramButtons: as with Slack, by the secret that Telegram was told.
func TestTelegramButtons(t *testing.T) {
	telegram := newService(t, telegramDemands)
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)), func(o *Options) { o.Telegram, o.REST = telegram.URL, "https://api.test" })
	r.run(r.Notifier)
	c, made, err := r.Create(t.Context(), r.owner.ID, Setup{Kind: notifications.Telegram, To: "42", Token: telegramBot})
	if err != nil || made != "" {
		t.Fatalf("%+v %q %v", c, made, err)
	}
	hook := telegram.call(t, "setWebhook")
	secret, _ := hook["secret_token"].(string)
	if hook["url"] != "https://api.test/api/v1/notification-channels/"+c.ID+"/presses" || strings.Contains(string(c.Sealed), secret) {
		t.Errorf("%v", hook)
	}
	a := r.ask("turn-1")
	asked := telegram.call(t, "sendMessage")
	if text := fmt.Sprint(asked); !strings.Contains(text, "callback_data:approve:"+a.ID) || !strings.Contains(text, "/approve?token=") || strings.Contains(text, "s3cret") {
		t.Errorf("%s", text)
	}
	r.delivery(c, "taken", status(outbox.Succeeded))
	press := func(secret string, from int, data string) (string, error) {
		body, _ := json.Marshal(object{"update_id": 1, "callback_query": object{"id": "q1", "from": object{"id": from}, "data": data}})
		answer, err := r.Press(t.Context(), c.ID, http.Header{"X-Telegram-Bot-Api-Secret-Token": {secret}}, body)
		said, _ := json.Marshal(answer)
		return string(said), err
	}
	for _, wrong := range []string{"", "x", secret + "x"} {
		if _, err := press(wrong, 42, "approve:"+a.ID); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("secret %q: %v", wrong, err)
		}
	}
	if said, err := press(secret, 43, "approve:"+a.ID); err != nil || !strings.Contains(said, "somebody else") {
		t.Errorf("%s %v", said, err)
	}
	if row, err := r.db.Approvals.Get(t.Context(), a.ID); err != nil || !row.Open() {
		t.Fatalf("decided by what must not: %+v, %v", row, err)
	}
	if said, err := press(secret, 42, "reject:"+a.ID); err != nil || !strings.Contains(said, `"answerCallbackQuery"`) || !strings.Contains(said, "Rejected.") {
		t.Errorf("%s %v", said, err)
	}
	if said, err := press(secret, 42, "approve:"+a.ID); err != nil || !strings.Contains(said, "rejected already") {
		t.Errorf("%s %v", said, err)
	}
	ended := telegram.call(t, "editMessageText")
	if text := fmt.Sprint(ended); strings.Contains(text, "callback_data") || !strings.Contains(text, "Rejected: pay") || strings.Contains(text, "token=") {
		t.Errorf("%s", text)
	}
	if row, err := r.db.Approvals.Get(t.Context(), a.ID); err != nil || row.State != approvals.Rejected || row.Via != "telegram" {
		t.Errorf("%+v, %v", row, err)
	}
}

// TestButtonsOfOthers: a channel decides about its own person's approvals alone, admin
// or not, and about nothing once they are locked out.
func TestButtonsOfOthers(t *testing.T) {
	slack := newService(t, slackDemands)
	db := storetest.Open(t, storetest.SQLiteURL(t))
	r := newRig(t, db, func(o *Options) { o.Slack = slack.URL })
	boss := beeos.User{ID: beeos.NewID(), Email: "boss@example.com", Name: "Boss", Admin: true, CreatedAt: time.Now()}
	if err := db.People.CreateUser(t.Context(), boss); err != nil {
		t.Fatal(err)
	}
	setUp := func(owner string) notifications.Channel {
		c, _, err := r.Create(t.Context(), owner, Setup{Kind: notifications.Slack, To: "U024BE7LH", Token: botToken, Secret: signing})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	of, mine := setUp(boss.ID), setUp(r.owner.ID)
	a := r.ask("turn-1")
	if err := db.People.Lock(t.Context(), r.owner.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []notifications.Channel{of, mine} {
		header, body := slackPress("U024BE7LH", "approve", a.ID, signing, r.now())
		if _, err := r.Press(t.Context(), c.ID, header, body); err != nil {
			t.Error(err)
		}
	}
	if row, err := db.Approvals.Get(t.Context(), a.ID); err != nil || !row.Open() {
		t.Errorf("%+v, %v", row, err)
	}
}

// TestNoYesToWhatIsCut: what a message does not show whole is approved on the page that
// does, and not by a button, also not by one that was made up.
func TestNoYesToWhatIsCut(t *testing.T) {
	slack, telegram := newService(t, slackDemands), newService(t, telegramDemands)
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)), func(o *Options) { o.Slack, o.Telegram, o.REST = slack.URL, telegram.URL, "https://api.test" })
	r.run(r.Notifier)
	c, _, err := r.Create(t.Context(), r.owner.ID, Setup{Kind: notifications.Slack, To: "U024BE7LH", Token: botToken, Secret: signing})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Create(t.Context(), r.owner.ID, Setup{Kind: notifications.Telegram, To: "42", Token: telegramBot}); err != nil {
		t.Fatal(err)
	}
	telegram.call(t, "setWebhook")
	q := storetest.Question(r.owner.ID, "turn-1", `{"to":"`+strings.Repeat("x", maxText)+`"}`, r.now())
	q.AgentID, q.Tool, q.ExpiresAt = r.agent, "pay", r.now().Add(5*time.Minute)
	a, _, err := r.db.Approvals.Ask(t.Context(), q, "r")
	if err != nil {
		t.Fatal(err)
	}
	for name, asked := range map[string]map[string]any{"slack": slack.call(t, "chat.postMessage"), "telegram": telegram.call(t, "sendMessage")} {
		if text := fmt.Sprint(asked); strings.Contains(text, "action_id:approve") || strings.Contains(text, "callback_data:approve") || !strings.Contains(text, "not all of it") || !strings.Contains(text, "/approve?token=") || !strings.Contains(text, "reject") {
			t.Errorf("%s: %s", name, text)
		}
	}
	header, body := slackPress("U024BE7LH", "approve", a.ID, signing, r.now())
	if _, err := r.Press(t.Context(), c.ID, header, body); err != nil {
		t.Error(err)
	}
	if row, err := r.db.Approvals.Get(t.Context(), a.ID); err != nil || !row.Open() {
		t.Errorf("%+v, %v", row, err)
	}
	header, body = slackPress("U024BE7LH", "reject", a.ID, signing, r.now())
	if _, err := r.Press(t.Context(), c.ID, header, body); err != nil {
		t.Error(err)
	}
	if row, err := r.db.Approvals.Get(t.Context(), a.ID); err != nil || row.State != approvals.Rejected {
		t.Errorf("%+v, %v", row, err)
	}
}

// TestWhatServicesRefuse is told to the person, without the token.
func TestWhatServicesRefuse(t *testing.T) {
	slack, telegram := newService(t, slackDemands), newService(t, telegramDemands)
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)), func(o *Options) { o.Slack, o.Telegram, o.REST = slack.URL, telegram.URL, "https://api.test" })
	r.run(r.Notifier)
	for name, s := range map[string]Setup{
		"no member":       {Kind: notifications.Slack, To: "#general", Token: botToken, Secret: signing},
		"no token":        {Kind: notifications.Slack, To: "U024BE7LH", Secret: signing},
		"no secret":       {Kind: notifications.Slack, To: "U024BE7LH", Token: botToken},
		"a group":         {Kind: notifications.Telegram, To: "-100", Token: telegramBot},
		"an unknown bot":  {Kind: notifications.Telegram, To: "42", Token: "1:hunter2"},
		"a path in a bot": {Kind: notifications.Telegram, To: "42", Token: "1/../2"},
	} {
		if _, _, err := r.Create(t.Context(), r.owner.ID, s); beeos.CodeOf(err) != beeos.InvalidParam || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _, err := r.Create(t.Context(), r.owner.ID, Setup{Kind: notifications.Slack, To: "U024BE7LH", Token: "xoxb-hunter2", Secret: signing})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Test(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if d := r.delivery(c, "failed", status(outbox.Failed)); !strings.Contains(d.Error, "invalid_auth") || strings.Contains(d.Error, "hunter2") {
		t.Errorf("%+v", d)
	}
}
