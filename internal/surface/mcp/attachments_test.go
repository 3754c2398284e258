package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// file makes a file of the owner's or of somebody else's; what it holds is
// not this surface's affair.
func (s *stack) file(t *testing.T, owner string, stored bool) string {
	t.Helper()
	f := files.File{
		ID: "file_" + beeos.NewID(), Owner: owner, OwnerID: s.owner.ID, Filename: "a.txt", ContentType: "text/plain",
		CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour), Size: 7, SHA256: []byte{1},
	}
	s.must(s.db.Files.Create(t.Context(), f))
	if stored {
		s.must(s.db.Files.Claim(t.Context(), f.ID, "c", time.Now(), time.Now().Add(time.Minute)))
		s.must(s.db.Files.MarkStored(t.Context(), f, "c"))
	}
	return f.ID
}

// TestAttachmentsMustBeTheCallers: unknown, foreign and not uploaded are one
// answer; one's own file becomes a part with a link, and never an argument.
func TestAttachmentsMustBeTheCallers(t *testing.T) {
	s := newStack(t)
	mine := "user:" + s.owner.ID
	own, pending := s.file(t, mine, true), s.file(t, mine, false)
	foreign, ofKey := s.file(t, "user:somebody", true), s.file(t, "key:key_clerk", true)
	call := func(key, name, arguments string) (int, []byte) {
		t.Helper()
		resp := s.send(t.Context(), t, s.server.URL, "clerk", key, "",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments))
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		return resp.StatusCode, body
	}
	ref := func(id string) string { return `{"attachments":[{"file_id":"` + id + `"}]}` }
	const one = `{"code":-32602,"message":"attachments: you have no uploaded file \"ID\"","data":{"code":"invalid_param"}}`
	for name, tt := range map[string]struct{ key, id string }{
		"unknown":              {"user", "file_unknown"},
		"not uploaded":         {"user", pending},
		"somebody else's":      {"user", foreign},
		"of a key":             {"user", ofKey},
		"a user's, for a key":  {"clerk", own},
		"of a file's id alone": {"user", strings.TrimPrefix(own, "file_")},
	} {
		status, body := call(tt.key, "what", ref(tt.id))
		want := strings.Replace(one, "ID", tt.id, 1)
		if got := string(strictjson.Field(body, "error")); status != 400 || got != want {
			t.Errorf("%s: %d %s, want %s", name, status, body, want)
		}
	}
	for name, arguments := range map[string]string{
		"no list":  `{"attachments":{"file_id":"` + own + `"}}`,
		"no id":    `{"attachments":[{}]}`,
		"a number": `{"attachments":[{"file_id":7}]}`,
		"too many": `{"attachments":[` + strings.Repeat(`{"file_id":"`+own+`"},`, 16) + `{"file_id":"` + own + `"}]}`,
	} {
		if status, body := call("user", "what", arguments); status != 400 || !strings.Contains(string(body), `"data":{"code":"invalid_param"}`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if n := len(s.frames()); n != 0 {
		t.Fatalf("the agent heard of %d calls", n)
	}

	next := s.nextFrame()
	arguments := `{"a":1,"attachments":[{"file_id":"` + own + `","filename":"../b.md","content_type":"text/markdown"}],"idempotency_key":"once"}`
	status, first := call("user", "what", arguments)
	if status != 200 {
		t.Fatalf("%d %s", status, first)
	}
	f := <-next
	link, _ := strictjson.StringField(partOf(t, f.Parts), "url")
	if !strings.HasPrefix(link, "https://rest.example.com/files/"+own+"?") {
		t.Errorf("link %q", link)
	}
	quoted, err := json.Marshal(link)
	s.must(err)
	if got, want := string(f.Parts), `[{"type":"file","url":`+string(quoted)+`,"mime_type":"text/markdown","name":".._b.md","size":7,"file_id":"`+own+`"}]`; got != want {
		t.Errorf("parts\n%s, want\n%s", got, want)
	}
	if got := string(strictjson.Field(f.Payload, "arguments")); got != `{"a":1}` {
		t.Errorf("arguments %s", got)
	}
	// The same call again, and under the same key one with another file.
	if status, again := call("user", "what", arguments); status != 200 || string(again) != string(first) || len(s.frames()) != 1 {
		t.Errorf("repeated: %d %s\nwant %s", status, again, first)
	}
	if status, body := call("user", "what", strings.Replace(arguments, own, s.file(t, mine, true), 1)); status != 409 {
		t.Errorf("another file: %d %s", status, body)
	}
	// The tool that is the agent itself takes files, too; a key has its own.
	for _, tt := range []struct{ key, tool, arguments string }{
		{"user", s.agents["clerk"], `{"message":"look","attachments":[{"file_id":"` + own + `"}]}`},
		{"clerk", "what", ref(ofKey)},
	} {
		next := s.nextFrame()
		if status, body := call(tt.key, tt.tool, tt.arguments); status != 200 {
			t.Errorf("%s: %d %s", tt.arguments, status, body)
		} else {
			partOf(t, (<-next).Parts)
		}
	}
}

// partOf returns the one part of a message.
func partOf(t *testing.T, parts []byte) []byte {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(parts, &list); err != nil || len(list) != 1 {
		t.Fatalf("parts %s, %v", parts, err)
	}
	return list[0]
}
