package chat

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
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	maxMessageBytes = 200 << 10
	uploadMemory    = 1 << 20 // bytes of an upload; the rest lies on the disk while it comes in
)

// messageForm is what the composer sends.
type messageForm struct {
	text  string
	key   string
	files []*multipart.FileHeader
}

// readMessage reads the composer. The key is made of the page that the message
// was written on, and of the message: pressing Send twice, or again after a
// failure, sends it once, and other words from a page that the browser had kept
// are another message.
func readMessage(r *http.Request) (f messageForm, err error) {
	if err := r.ParseMultipartForm(uploadMemory); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return f, beeos.Wrap(beeos.InvalidParam, err, fmt.Sprintf("the message arrived incomplete; its files may have %d MB together", files.MaxBytes>>20))
	}
	f.text = strings.TrimSpace(strings.ReplaceAll(r.PostFormValue("message"), "\r\n", "\n"))
	pageKey := r.PostFormValue("key")
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
	f.key = pageKey + " " + hex.EncodeToString(sum[:16])
	switch {
	case f.text == "" && len(f.files) == 0:
		return f, beeos.Errorf(beeos.InvalidParam, "write something first")
	case len(f.text) > maxMessageBytes:
		return f, beeos.Errorf(beeos.InvalidParam, "a message may have at most %d bytes; attach the rest as a file", maxMessageBytes)
	case !utf8.ValidString(f.text):
		return f, beeos.Errorf(beeos.InvalidParam, "the message is not text")
	case pageKey == "" || len(pageKey) > 100:
		return f, beeos.Errorf(beeos.InvalidParam, "the form is incomplete; open the page again")
	}
	return f, nil
}

// beginConversation sends the first message of a conversation, which begins
// with it.
func (c *Chat) beginConversation(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	here, err := c.findConversation(r, v)
	if err != nil {
		return err
	}
	f, err := readMessage(r)
	var sent invoke.Sent
	if err == nil {
		sent, err = c.submit(r.Context(), v, here.agent, "", f)
	}
	if err == nil && !sent.Replayed {
		err = c.Ledger.Rename(r.Context(), sent.Message.Channel, firstTitle(f))
	}
	if err != nil {
		return c.showUnsent(w, r, v, here, f.text, err)
	}
	here.channel.ID = sent.Message.Channel // of the first time, if this is another
	return page.Redirect(w, r, here.path(), "")
}

// sendMessage sends a message in a conversation.
func (c *Chat) sendMessage(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	here, err := c.findConversation(r, v)
	if err != nil {
		return err
	}
	f, err := readMessage(r)
	if err == nil && here.channel.Closed {
		err = beeos.Errorf(beeos.Conflict, "this conversation is closed (%s); begin a new one", here.channel.ClosedReason)
	}
	if err == nil {
		_, err = c.submit(r.Context(), v, here.agent, here.channel.ID, f)
	}
	if err != nil {
		return c.showUnsent(w, r, v, here, f.text, err)
	}
	return acceptForm(w, r, here)
}

// submit hands the message to the call path, like every surface; without a
// channel it begins a conversation.
func (c *Chat) submit(ctx context.Context, v *page.Visitor, a *beeos.Agent, channel string, f messageForm) (invoke.Sent, error) {
	caller := v.Caller()
	req := invoke.Request{
		Caller: caller, Agent: a, Surface: "web", Channel: channel, KeepOpen: true, Kind: beeos.KindConversation, Body: f.text,
		Call: beeos.Call{Can: []string{"elicitation", "progress"}}, IdempotencyKey: f.key,
	}
	for i, header := range f.files {
		id, err := c.storeFile(ctx, caller, fmt.Sprintf("%s %d", f.key, i), header)
		if err != nil {
			return invoke.Sent{}, err
		}
		req.Attachments = append(req.Attachments, files.Attachment{FileID: id})
	}
	return c.Calls.Submit(ctx, req)
}

func (c *Chat) storeFile(ctx context.Context, caller beeos.Caller, key string, header *multipart.FileHeader) (id string, err error) {
	if c.Files == nil {
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
	file, err := c.Files.Store(ctx, caller, key, header.Filename, kind, body)
	return file.ID, err
}

// firstTitle names a conversation until somebody renames it.
func firstTitle(f messageForm) string {
	line, _, _ := strings.Cut(f.text, "\n")
	if line == "" && len(f.files) > 0 {
		line = f.files[0].Filename
	}
	return safetext.Line(line, 60)
}

// showUnsent shows the page again with the message that was not sent, and why.
func (c *Chat) showUnsent(w http.ResponseWriter, r *http.Request, v *page.Visitor, here conversation, text string, err error) error {
	problem, status, ok := page.FormProblem(err)
	if beeos.CodeOf(err) == beeos.AgentOffline {
		problem, status, ok = page.Sentence(beeos.Public(err).Message), httpd.StatusOf(err), true
	}
	if !ok || page.IsScripted(r) {
		return err
	}
	return c.showPage(w, r, v, here, status, problem, text)
}
