package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
)

// stopChat asks the agent to stop whatever it does in this conversation.
func (s *Site) stopChat(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	open, err := s.Ledger.OpenTurns(r.Context(), ch.ID)
	if err != nil {
		return err
	}
	for _, turn := range open {
		if err := s.Calls.Cancel(r.Context(), ch.ID, turn, "stopped in the console"); err != nil {
			return err
		}
	}
	return s.went(w, r, "/agents/"+a.ID+"/chat/"+ch.ID)
}

// answerChat answers what the agent asks.
func (s *Site) answerChat(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	t, err := s.talk(r.Context(), v, a, &ch, talkMost)
	if err != nil {
		return err
	}
	if err = s.answer(r, v, t, ch.ID); err == nil {
		return s.went(w, r, t.base)
	}
	message, status, ok := formError(err)
	if !ok || quiet(r) {
		return err
	}
	return s.showChat(w, r, v, status, page{Problem: message}, a, &ch, "")
}

func (s *Site) answer(r *http.Request, v *visit, t *talk, channel string) error {
	q := t.question(r.PostFormValue("question"))
	if q == nil {
		return beeos.Errorf(beeos.Conflict, "the agent does not ask this any more; look at the conversation again")
	}
	said := map[string]any{"action": "accept"}
	text := ""
	if r.PostFormValue("decline") != "" {
		said["action"] = "decline"
	} else if len(q.Fields) > 0 {
		values, err := content(q.Fields, r.PostForm)
		if err != nil {
			return err
		}
		said["content"] = values
		text, _ = values["message"].(string)
	}
	result, err := json.Marshal(said)
	if err != nil {
		return beeos.Wrap(beeos.InvalidParam, err, "the answer cannot be sent")
	}
	if q.Ask != "" {
		return s.Calls.Answer(r.Context(), q.Ask, result, nil)
	}
	m := beeos.Message{Type: beeos.Continue, Channel: channel, InReplyTo: q.Turn, Publisher: v.caller().Principal(), Body: text, Payload: result}
	if q.Grant {
		m.Type = beeos.AuthGrant
	}
	_, err = s.Calls.Continue(r.Context(), m)
	return err
}

// question returns one that is open.
func (t *talk) question(id string) *question {
	for _, u := range t.turns {
		for _, q := range u.Asked {
			if q.ID == id && q.Open && u.Open {
				return q
			}
		}
	}
	return nil
}

// titleChat renames a conversation.
func (s *Site) titleChat(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	err = s.Acts.RenameConversation(r.Context(), v.caller(), ch, strings.TrimSpace(r.FormValue("title")))
	if message, status, ok := formError(err); ok {
		return s.showChat(w, r, v, status, page{Problem: message}, a, &ch, "")
	}
	if err != nil {
		return err
	}
	return s.done(w, r, "/agents/"+a.ID+"/chat/"+ch.ID, "titled")
}

// deleteChat forgets a conversation and everything said in it.
func (s *Site) deleteChat(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	err = s.Acts.DeleteConversation(r.Context(), v.caller(), ch)
	if message, status, ok := formError(err); ok {
		return s.showChat(w, r, v, status, page{Problem: message}, a, &ch, "")
	}
	if err != nil {
		return err
	}
	return s.done(w, r, "/agents/"+a.ID+"/chat", "chat-deleted")
}

// toChat leads from where a form left the browser back to the conversation.
func (s *Site) toChat(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	return s.done(w, r, "/agents/"+a.ID+"/chat/"+ch.ID, "")
}
