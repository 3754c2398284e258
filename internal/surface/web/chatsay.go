package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	maxMessage = 200 << 10 // bytes of one message
	inMemory   = 1 << 20   // of an upload; the rest lies on the disk while it comes in
	maxUpload  = files.MaxBytes + maxForm
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
		return f, beeos.Wrap(beeos.InvalidParam, err, fmt.Sprintf("the message did not come through whole; its files may have %d MB together", files.MaxBytes>>20))
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
		if sent, err = s.submit(r.Context(), v, a, "", f); err == nil {
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

// submit hands the words to the call path, like every surface; without a
// channel they begin a conversation.
func (s *Site) submit(ctx context.Context, v *visit, a *beeos.Agent, channel string, f spokenForm) (invoke.Sent, error) {
	c := v.caller()
	req := invoke.Request{
		Caller: c, Agent: a, Surface: "web", Channel: channel, KeepOpen: true, Kind: beeos.KindConversation, Body: f.text,
		Call: beeos.Call{Can: []string{"elicitation", "progress"}}, IdempotencyKey: f.key,
	}
	for i, header := range f.files {
		id, err := s.keepFile(ctx, c, fmt.Sprintf("%s %d", f.key, i), header)
		if err != nil {
			return invoke.Sent{}, err
		}
		req.Attachments = append(req.Attachments, files.Attachment{FileID: id})
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
