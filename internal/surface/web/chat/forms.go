package chat

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/transcript"
)

// stopAgent asks the agent to stop whatever it does in this conversation.
func (c *Chat) stopAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	here, err := c.findConversation(r, v)
	if err != nil {
		return err
	}
	open, err := c.Ledger.OpenTurns(r.Context(), here.channel.ID)
	if err != nil {
		return err
	}
	for _, turn := range open {
		if err := c.Calls.Cancel(r.Context(), here.channel.ID, turn, "stopped in the console"); err != nil {
			return err
		}
	}
	return acceptForm(w, r, here)
}

// acceptForm answers a form that worked: its result is on the page.
func acceptForm(w http.ResponseWriter, r *http.Request, here conversation) error {
	if page.IsScripted(r) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return page.Redirect(w, r, here.path()+"#end", "")
}

// answerQuestion answers what the agent asks.
func (c *Chat) answerQuestion(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	here, err := c.findConversation(r, v)
	if err != nil {
		return err
	}
	t, err := c.loadTranscript(r.Context(), v, here, maxMessages)
	if err != nil {
		return err
	}
	if err = c.sendAnswer(r, v, t, here.channel.ID); err == nil {
		return acceptForm(w, r, here)
	}
	message, status, ok := page.FormProblem(err)
	if !ok || page.IsScripted(r) {
		return err
	}
	return c.showPage(w, r, v, here, status, message, "")
}

func (c *Chat) sendAnswer(r *http.Request, v *page.Visitor, t *transcript.Transcript, channel string) error {
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
	m := beeos.Message{Type: beeos.Continue, Channel: channel, InReplyTo: q.Turn, Publisher: v.Caller().Principal(), Body: text, Payload: payload}
	if q.Grant {
		m.Type = beeos.AuthGrant
	}
	_, err = c.Calls.Continue(r.Context(), m)
	return err
}

func (c *Chat) renameConversation(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	here, err := c.findConversation(r, v)
	if err != nil {
		return err
	}
	err = c.Acts.RenameConversation(r.Context(), v.Caller(), here.channel, strings.TrimSpace(r.FormValue("title")))
	if message, status, ok := page.FormProblem(err); ok {
		return c.showPage(w, r, v, here, status, message, "")
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, here.path(), "titled")
}

// deleteConversation deletes a conversation and everything said in it.
func (c *Chat) deleteConversation(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	here, err := c.findConversation(r, v)
	if err != nil {
		return err
	}
	err = c.Acts.DeleteConversation(r.Context(), v.Caller(), here.channel)
	if message, status, ok := page.FormProblem(err); ok {
		return c.showPage(w, r, v, here, status, message, "")
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, here.listPath(), "chat-deleted")
}

// redirectToConversation leads back from the address of a form, where the
// browser was left, to the conversation.
func (c *Chat) redirectToConversation(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	here, err := c.findConversation(r, v)
	if err != nil {
		return err
	}
	return page.Redirect(w, r, here.path(), "")
}
