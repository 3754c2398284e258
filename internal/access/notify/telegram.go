package notify

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/notifications"
)

const telegramAPI = "https://api.telegram.org"

// telegramSender writes to a person's private chat with a bot of theirs. The message
// has buttons until the approval is decided.
type telegramSender struct {
	opt  *Options
	base string
	api  *http.Client
}

var telegramChat = regexp.MustCompile(`^[1-9][0-9]{0,15}$`)

// setUp tells Telegram where presses go, under a secret that only it knows.
func (s *telegramSender) setUp(ctx context.Context, c *notifications.Channel, setup *Setup) (secrets, error) {
	if !telegramChat.MatchString(setup.To) {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "to must be the number of your private chat with the bot; write to the bot first, then look it up with getUpdates")
	}
	if setup.URL != "" {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "a channel of kind %s takes no url", c.Kind)
	}
	if err := checkBotToken(setup.Token); err != nil {
		return secrets{}, err
	}
	if setup.Secret != "" {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "a channel of kind telegram takes no secret; one is made")
	}
	kept := secrets{Secret: strings.ReplaceAll(beeos.NewID()+beeos.NewID(), "-", ""), Token: setup.Token, hidden: true}
	c.Target = setup.To
	came := s.call(ctx, kept, "setWebhook", object{"url": s.opt.pressURL(c), "secret_token": kept.Secret, "allowed_updates": []string{"callback_query"}}, nil)
	if came.Err != nil {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "Telegram does not take the bot: %s; check the token, and that REST is reached by https from outside", came.Err)
	}
	return kept, nil
}

func (s *telegramSender) send(ctx context.Context, m *message) courier.Outcome {
	post := object{"chat_id": m.channel.Target, "text": m.brief(), "link_preview_options": object{"is_disabled": true}}
	method := "sendMessage"
	id, err := strconv.ParseInt(m.reference, 10, 64)
	switch {
	case m.Type == ApprovalRequested:
		row := []object{{"text": "Reject", "callback_data": "reject:" + m.Approval.ID}}
		if !m.Approval.Shortened { // a yes is for what the person has read
			row = append([]object{{"text": "Approve", "callback_data": "approve:" + m.Approval.ID}}, row...)
		}
		post["reply_markup"] = object{"inline_keyboard": [][]object{row}}
	case m.Approval != nil && err != nil:
		return courier.Outcome{Idle: true, Err: errors.New("the question was not delivered, so there is no message to change")}
	case m.Type == ApprovalReminder:
		post["reply_parameters"] = object{"message_id": id}
	case m.Approval != nil:
		method, post["message_id"] = "editMessageText", id
		post["reply_markup"] = object{"inline_keyboard": [][]object{}}
	}
	if m.asks() && m.Approval.URL != "" {
		post["text"] = m.brief() + "\n\n" + m.Approval.URL
	}
	var sent struct {
		ID int64 `json:"message_id"`
	}
	came := s.call(ctx, m.secrets, method, post, &sent)
	if came.Err == nil && m.Type == ApprovalRequested {
		came.Err = m.keep(ctx, strconv.FormatInt(sent.ID, 10))
	}
	return came
}

// call makes a call of Telegram's API.
func (s *telegramSender) call(ctx context.Context, kept secrets, method string, post, result any) courier.Outcome {
	var answer struct {
		OK          bool            `json:"ok"`
		Description string          `json:"description"`
		Result      json.RawMessage `json:"result"`
	}
	came := callAPI(ctx, s.api, s.opt.Now, s.base+"/bot"+kept.Token+"/"+method, "", post, &answer)
	switch {
	case strings.Contains(answer.Description, "message is not modified"): // by an attempt whose end was lost
		return courier.Outcome{Response: came.Response}
	case answer.Description != "":
		came.Err = errors.New("Telegram says: " + shown(answer.Description))
	case came.Err == nil && !answer.OK:
		came.Err = errors.New("what came back is not Telegram's")
	case came.Err == nil && result != nil && json.Unmarshal(answer.Result, result) != nil:
		came.Err = errors.New("the answer cannot be read")
	}
	return came
}

// readPress takes what Telegram posts when somebody presses a button.
func (s *telegramSender) readPress(c *notifications.Channel, kept secrets, header http.Header, body []byte) (p press, ok bool) {
	if kept.Secret == "" || !hmac.Equal([]byte(kept.Secret), []byte(header.Get("X-Telegram-Bot-Api-Secret-Token"))) {
		return p, false
	}
	var update struct {
		Query struct {
			ID   string `json:"id"`
			From struct {
				ID int64 `json:"id"`
			} `json:"from"`
			Data string `json:"data"`
		} `json:"callback_query"`
	}
	if json.Unmarshal(body, &update) != nil || update.Query.ID == "" {
		return p, false
	}
	p.byOwner = strconv.FormatInt(update.Query.From.ID, 10) == c.Target
	p.choice, p.approval, _ = strings.Cut(update.Query.Data, ":")
	p.reply = func(text string) any {
		return object{"method": "answerCallbackQuery", "callback_query_id": update.Query.ID, "text": beeos.Shorten(text, 180)}
	}
	return p, true
}
