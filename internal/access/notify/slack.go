package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/notifications"
)

const slackAPI = "https://slack.com/api"

// slackSkew is how old a press may be, as Slack advises.
const slackSkew = 5 * time.Minute

// slackSender writes to a member of a workspace, by a bot of theirs. The message has
// buttons until the approval is decided.
type slackSender struct {
	opt  *Options
	base string
	api  *http.Client
}

var slackMember = regexp.MustCompile(`^[UW][A-Z0-9]{2,30}$`)

func (s *slackSender) setUp(_ context.Context, c *notifications.Channel, setup *Setup) (secrets, error) {
	if !slackMember.MatchString(setup.To) {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "to must be your member ID in Slack, such as U024BE7LH; your profile's menu there copies it")
	}
	if setup.URL != "" {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "a channel of kind %s takes no url", c.Kind)
	}
	if err := checkBotToken(setup.Token); err != nil {
		return secrets{}, err
	}
	if setup.Secret == "" || courier.CheckSecret(setup.Secret) != nil {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "secret must be the signing secret of the Slack app, from its page of basic information")
	}
	c.Target = setup.To
	return secrets{Secret: setup.Secret, Token: setup.Token}, nil
}

func checkBotToken(token string) error {
	if token == "" || strings.ContainsAny(token, "/?#%") || courier.CheckToken("token", token) != nil {
		return beeos.Errorf(beeos.InvalidParam, "token must be the bot's token, plain ASCII without spaces and slashes")
	}
	return nil
}

type object = map[string]any

func slackText(text string) object { return object{"type": "plain_text", "text": text} }

func slackButton(action, text, style, value string) object {
	return object{"type": "button", "action_id": action, "text": slackText(text), "style": style, "value": value}
}

func (s *slackSender) send(ctx context.Context, m *message) courier.Outcome {
	section := object{"type": "section", "text": slackText(m.brief())}
	post := object{"channel": m.channel.Target, "text": slackEscape(m.summary()), "blocks": []object{section}}
	method := "chat.postMessage"
	conversation, stamp, told := strings.Cut(m.reference, " ")
	switch {
	case m.Type == ApprovalRequested:
		var buttons []object
		if !m.Approval.Shortened { // a yes is for what the person has read
			buttons = append(buttons, slackButton("approve", "Approve", "primary", m.Approval.ID))
		}
		buttons = append(buttons, slackButton("reject", "Reject", "danger", m.Approval.ID))
		if m.Approval.URL != "" {
			buttons = append(buttons, object{"type": "button", "action_id": "open", "text": slackText("See all of it"), "url": m.Approval.URL})
		}
		post["blocks"] = []object{section, {"type": "actions", "elements": buttons}}
	case m.Approval != nil && !told:
		return courier.Outcome{Idle: true, Err: errors.New("the question was not delivered, so there is no message to change")}
	case m.Type == ApprovalReminder:
		post["channel"], post["thread_ts"] = conversation, stamp
	case m.Approval != nil:
		method, post["channel"], post["ts"] = "chat.update", conversation, stamp
	}
	var answer struct {
		OK      bool   `json:"ok"`
		Error   string `json:"error"`
		Channel string `json:"channel"`
		Stamp   string `json:"ts"`
	}
	came := callAPI(ctx, s.api, s.opt.Now, s.base+"/"+method, "Bearer "+m.secrets.Token, post, &answer)
	if came.Err != nil {
		return came
	}
	if !answer.OK {
		came.Err = errors.New("Slack says: " + shown(answer.Error))
		return came
	}
	if m.Type == ApprovalRequested {
		came.Err = m.keep(ctx, answer.Channel+" "+answer.Stamp)
	}
	return came
}

// slackEscape keeps text from being read as commands of Slack's own writing.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// readPress takes what Slack posts when somebody presses a button.
func (s *slackSender) readPress(c *notifications.Channel, kept secrets, header http.Header, body []byte) (p press, ok bool) {
	stamp := header.Get("X-Slack-Request-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || s.opt.Now().Sub(time.Unix(at, 0)).Abs() > slackSkew {
		return p, false
	}
	mac := hmac.New(sha256.New, []byte(kept.Secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	if !hmac.Equal([]byte("v0="+hex.EncodeToString(mac.Sum(nil))), []byte(header.Get("X-Slack-Signature"))) {
		return p, false
	}
	form, err := url.ParseQuery(string(body))
	var what struct {
		Type string
		User struct{ ID string }

		Actions []struct {
			ActionID string `json:"action_id"`
			Value    string
		}
	}
	if err != nil || json.Unmarshal([]byte(form.Get("payload")), &what) != nil || what.Type != "block_actions" || len(what.Actions) != 1 {
		return p, false
	}
	p.byOwner = what.User.ID == c.Target
	p.approval, p.choice = what.Actions[0].Value, what.Actions[0].ActionID
	p.reply = func(string) any { return struct{}{} } // the message says what became of it
	return p, true
}
