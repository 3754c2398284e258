package chat

import (
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/transcript"
)

// stopAgent asks the agent to stop whatever it does in this conversation.
func (c *Chat) stopAgent(r *page.Request, here conversation) (page.Answer, error) {
	open, err := c.Ledger.OpenTurns(r.Context(), here.channel.ID)
	for _, turn := range open {
		if err := c.Calls.Cancel(r.Context(), here.channel.ID, turn, "stopped in the console"); err != nil {
			return nil, err
		}
	}
	return here.end(), err
}

// end leads to the end of the conversation, where the result of a form is.
func (c conversation) end() page.Answer { return page.Redirect(c.path()+"#end", "") }

// answerQuestion answers what the agent asks.
func (c *Chat) answerQuestion(r *page.Request, here conversation) (page.Answer, error) {
	t, err := c.loadTranscript(r, here, maxMessages)
	if err != nil {
		return nil, err
	}
	return here.end(), c.sendAnswer(r, t, here.channel.ID)
}

func (c *Chat) sendAnswer(r *page.Request, t *transcript.Transcript, channel string) error {
	q := t.OpenQuestion(r.PostFormValue("question"))
	if q == nil {
		return beeos.Errorf(beeos.Conflict, "the agent no longer asks this; look at the conversation again")
	}
	answer := map[string]any{"action": "accept"}
	text := ""
	if r.PostFormValue("decline") != "" {
		answer["action"] = "decline"
	} else if len(q.Fields) > 0 {
		values, err := q.ReadAnswer(r.PostForm)
		if err != nil {
			return err
		}
		answer["content"] = values
		text, _ = values["message"].(string)
	}
	payload, err := json.Marshal(answer)
	if err != nil {
		return beeos.Wrap(beeos.InvalidParam, err, "the answer cannot be sent")
	}
	if q.FormID != "" {
		return c.Calls.Answer(r.Context(), q.FormID, payload, nil)
	}
	m := beeos.Message{Type: beeos.Continue, Channel: channel, InReplyTo: q.Turn, Publisher: r.Caller().Principal(), Body: text, Payload: payload}
	if q.Grant {
		m.Type = beeos.AuthGrant
	}
	_, err = c.Calls.Continue(r.Context(), m)
	return err
}

func (c *Chat) renameConversation(r *page.Request, here conversation) (page.Answer, error) {
	title := strings.TrimSpace(r.FormValue("title"))
	return page.Redirect(here.path(), "titled"), c.Acts.RenameConversation(r.Context(), r.Caller(), here.channel, title)
}

// deleteConversation deletes a conversation and everything said in it.
func (c *Chat) deleteConversation(r *page.Request, here conversation) (page.Answer, error) {
	return page.Redirect(here.listPath(), "chat-deleted"), c.Acts.DeleteConversation(r.Context(), r.Caller(), here.channel)
}

// redirectToConversation leads back from the address of a form, where the
// browser was left, to the conversation.
func redirectToConversation(_ *page.Request, here conversation) (page.Answer, error) {
	return page.Redirect(here.path(), ""), nil
}
