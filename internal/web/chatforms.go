package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/httpd"
	"github.com/beeos/beeos/internal/invoke"
)

const (
	maxChatTitle = 256
	maxMessage   = 200 << 10 // bytes of one message
	inMemory     = 1 << 20   // of an upload; the rest lies on the disk while it comes in
	maxUpload    = invoke.MaxFileBytes + maxForm
)

// spokenForm is what the composer sends.
type spokenForm struct {
	text  string
	key   string
	files []*multipart.FileHeader
}

// readSpoken reads it. The key is the page that the words were written on, and
// the words: to press twice, or again after a failure, is to say it once, and
// other words from a page that the browser had kept are another message.
func readSpoken(r *http.Request) (f spokenForm, err error) {
	if err := r.ParseMultipartForm(inMemory); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return f, beeos.Wrap(beeos.InvalidParam, err, fmt.Sprintf("the message did not come through whole; its files may have %d MB together", invoke.MaxFileBytes>>20))
	}
	f.text = strings.TrimSpace(strings.ReplaceAll(r.PostFormValue("message"), "\r\n", "\n"))
	page := r.PostFormValue("key")
	about := f.text
	if r.MultipartForm != nil {
		for _, file := range r.MultipartForm.File["file"] {
			if file.Filename != "" || file.Size > 0 { // a browser sends an empty one when none was picked
				f.files = append(f.files, file)
				about += fmt.Sprintf("\x00%s\x00%d", file.Filename, file.Size)
			}
		}
	}
	sum := sha256.Sum256([]byte(about))
	f.key = page + " " + hex.EncodeToString(sum[:16])
	switch {
	case f.text == "" && len(f.files) == 0:
		return f, beeos.Errorf(beeos.InvalidParam, "write something first")
	case len(f.text) > maxMessage:
		return f, beeos.Errorf(beeos.InvalidParam, "a message may have at most %d bytes; attach the rest as a file", maxMessage)
	case !utf8.ValidString(f.text):
		return f, beeos.Errorf(beeos.InvalidParam, "the message is not text")
	case page == "" || len(page) > 100:
		return f, beeos.Errorf(beeos.InvalidParam, "this form is not whole; open the page again")
	}
	return f, nil
}

// beginChat says the first words of a conversation, which begins with them.
func (s *Site) beginChat(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, err := s.reachable(r, v)
	if err != nil {
		return err
	}
	f, err := readSpoken(r)
	if err == nil {
		var sent invoke.Sent
		if sent, err = s.submit(r.Context(), v, a, beeos.NewChannelID(), f); err == nil {
			ch := sent.Message.Channel // of the first time, if this is another
			if !sent.Replayed {
				err = s.Ledger.Rename(r.Context(), ch, firstWords(f))
			}
			if err == nil {
				return s.done(w, r, "/agents/"+a.ID+"/chat/"+ch, "")
			}
		}
	}
	return s.unsent(w, r, v, err, a, nil, f.text)
}

// say says something in a conversation.
func (s *Site) say(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	f, err := readSpoken(r)
	if err == nil && ch.Closed {
		err = beeos.Errorf(beeos.Conflict, "this conversation is closed (%s); begin a new one", ch.ClosedReason)
	}
	if err == nil {
		_, err = s.submit(r.Context(), v, a, ch.ID, f)
	}
	if err != nil {
		return s.unsent(w, r, v, err, a, &ch, f.text)
	}
	return s.went(w, r, "/agents/"+a.ID+"/chat/"+ch.ID)
}

// submit hands the words to the call path, like every surface.
func (s *Site) submit(ctx context.Context, v *visit, a *beeos.Agent, channel string, f spokenForm) (invoke.Sent, error) {
	c := v.caller()
	print := sha256.Sum256([]byte(f.text)) // not of the channel, which is another one for a first message that is sent twice
	req := invoke.Request{
		Caller: c, Agent: a, Surface: "web", Channel: channel, Kind: beeos.KindConversation, Body: f.text,
		Call: beeos.Call{Protocol: "web", Can: []string{"elicitation", "progress"}}, IdempotencyKey: f.key, Fingerprint: print[:],
	}
	for i, header := range f.files {
		id, err := s.keepFile(ctx, c, fmt.Sprintf("%s %d", f.key, i), header)
		if err != nil {
			return invoke.Sent{}, err
		}
		req.Attachments = append(req.Attachments, invoke.Attachment{FileID: id})
	}
	return s.Calls.Submit(ctx, req)
}

func (s *Site) keepFile(ctx context.Context, c beeos.Caller, key string, header *multipart.FileHeader) (id string, err error) {
	if s.Files == nil {
		return "", beeos.Errorf(beeos.InvalidParam, "files cannot be attached here; set OPENAPI_PUBLIC_URL")
	}
	body, err := header.Open()
	if err != nil {
		return "", fmt.Errorf("read an upload: %w", err)
	}
	defer body.Close()
	kind := header.Header.Get("Content-Type")
	if kind == "" {
		kind = "application/octet-stream"
	}
	file, err := s.Files.Store(ctx, c, key, header.Filename, kind, body)
	return file.ID, err
}

// firstWords name a conversation until somebody does.
func firstWords(f spokenForm) string {
	line, _, _ := strings.Cut(f.text, "\n")
	if line == "" && len(f.files) > 0 {
		line = f.files[0].Filename
	}
	return clean(line, 60)
}

// quiet reports whether a form was sent by a script that has the page already,
// and wants to know no more than whether it worked.
func quiet(r *http.Request) bool {
	return r.Header.Get("HX-Request") != "" && r.Header.Get("Accept") == "text/plain"
}

// went answers a form that did what it should: what came of it is on the page.
func (s *Site) went(w http.ResponseWriter, r *http.Request, page string) error {
	if quiet(r) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.done(w, r, page+"#end", "")
}

// unsent shows the page again with the words that did not go out, and why.
func (s *Site) unsent(w http.ResponseWriter, r *http.Request, v *visit, err error, a *beeos.Agent, ch *beeos.Channel, text string) error {
	message, status, ok := formError(err)
	if beeos.CodeOf(err) == beeos.AgentOffline {
		message, status, ok = sentence(beeos.Public(err).Message), httpd.StatusOf(err), true
	}
	if !ok || quiet(r) {
		return err
	}
	return s.showChat(w, r, v, status, page{Problem: message}, a, ch, text)
}

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
	title := strings.TrimSpace(r.FormValue("title"))
	if n := utf8.RuneCountInString(title); n == 0 || n > maxChatTitle || !utf8.ValidString(title) {
		return s.showChat(w, r, v, http.StatusBadRequest, page{Problem: fmt.Sprintf("A name must have from 1 to %d characters.", maxChatTitle)}, a, &ch, "")
	}
	if err := s.Ledger.Rename(r.Context(), ch.ID, title); err != nil {
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
	err = s.Ledger.DeleteChannel(r.Context(), ch.ID)
	if message, status, ok := formError(err); ok {
		return s.showChat(w, r, v, status, page{Problem: message}, a, &ch, "")
	}
	if err != nil {
		return err
	}
	s.audit(r.Context(), v, "conversation.delete", ch.ID, map[string]string{"agent": a.ID})
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
