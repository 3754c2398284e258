package chat

import (
	"cmp"
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
func readMessage(r *page.Request) (f messageForm, err error) {
	if err := r.ParseMultipartForm(uploadMemory); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return f, beeos.Wrap(beeos.InvalidParam, err, fmt.Sprintf("the message arrived incomplete; its files may have %d MB together", files.MaxBytes>>20))
	}
	f.text = messageText(r)
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

// messageText is what was written in the composer.
func messageText(r *page.Request) string {
	return strings.TrimSpace(strings.ReplaceAll(r.PostFormValue("message"), "\r\n", "\n"))
}

// beginConversation sends the first message of a conversation, which begins
// with it.
func (c *Chat) beginConversation(r *page.Request, here conversation) (page.Answer, error) {
	f, err := readMessage(r)
	if err != nil {
		return nil, err
	}
	sent, err := c.submit(r, here, f)
	if err == nil && !sent.Replayed {
		err = c.Ledger.RenameChannel(r.Context(), sent.Message.Channel, firstTitle(f))
	}
	here.channel.ID = sent.Message.Channel // of the first time, if this is another
	return page.Redirect(here.path(), ""), err
}

// sendMessage sends a message in a conversation.
func (c *Chat) sendMessage(r *page.Request, here conversation) (page.Answer, error) {
	f, err := readMessage(r)
	if err == nil && here.channel.Closed {
		err = beeos.Errorf(beeos.Conflict, "this conversation is closed (%s); begin a new one", here.channel.ClosedReason)
	}
	if err == nil {
		_, err = c.submit(r, here, f)
	}
	return here.end(), err
}

// submit hands the message to the call path, like every surface; a conversation
// that has not begun begins with it.
func (c *Chat) submit(r *page.Request, here conversation, f messageForm) (invoke.Sent, error) {
	req := invoke.Request{
		Caller: r.Caller(), Agent: here.agent, Surface: "web", Channel: here.channel.ID, KeepOpen: true, Kind: beeos.KindConversation, Body: f.text,
		Call: beeos.Call{Can: []string{"elicitation", "progress"}}, IdempotencyKey: f.key,
		Entry: invoke.Entry{Method: r.Pattern},
	}
	for i, header := range f.files {
		id, err := c.storeFile(r, fmt.Sprintf("%s %d", f.key, i), header)
		if err != nil {
			return invoke.Sent{}, err
		}
		req.Attachments = append(req.Attachments, files.Attachment{FileID: id})
	}
	return c.Calls.Submit(r.Context(), req)
}

func (c *Chat) storeFile(r *page.Request, key string, header *multipart.FileHeader) (id string, err error) {
	if c.Files == nil {
		return "", beeos.Errorf(beeos.InvalidParam, "files cannot be attached here; set OPENAPI_PUBLIC_URL")
	}
	body, err := header.Open()
	if err != nil {
		return "", fmt.Errorf("read an upload: %w", err)
	}
	defer body.Close()
	kind := cmp.Or(header.Header.Get("Content-Type"), "application/octet-stream")
	file, err := c.Files.Store(r.Context(), r.Caller(), key, header.Filename, kind, body)
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
