package rest_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/files"
)

type uploadJSON struct {
	FileID            string `json:"file_id"`
	UploadURL         string `json:"upload_url"`
	DownloadURL       string `json:"download_url"`
	DownloadExpiresIn int64  `json:"download_expires_in"`
}

type fileJSON struct {
	FileID      string `json:"file_id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        *int64 `json:"size"`
	DownloadURL string `json:"download_url"`
}

// announce asks for the links of a text file.
func (s *stack) announce(name string) uploadJSON {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"filename": name, "content_type": "text/plain"})
	if err != nil {
		s.t.Fatal(err)
	}
	return ok[uploadJSON](s, "POST", "/api/v1/files/presign-upload", string(body))
}

// follow uses a link.
func (s *stack) follow(method, link string, body io.Reader, header ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, link, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	var env struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(raw, &env) == nil {
		a.code, a.text = env.Error.Code, env.Error.Message
	}
	return a
}

// put uploads a text.
func (s *stack) put(link, text string) answer {
	s.t.Helper()
	return s.follow("PUT", link, strings.NewReader(text), "Content-Type", "text/plain")
}

// upload makes a text file.
func (s *stack) upload(name, text string) uploadJSON {
	s.t.Helper()
	up := s.announce(name)
	if a := s.put(up.UploadURL, text); a.status != 200 {
		s.t.Fatalf("upload: %d %s", a.status, a.raw)
	}
	return up
}

// onDisk lists what is in the folder for files.
func (s *stack) onDisk() []string {
	s.t.Helper()
	list, err := os.ReadDir(s.folder)
	if err != nil {
		s.t.Fatal(err)
	}
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestFileGoesUpAndDown(t *testing.T) {
	s := start(t)
	up := s.announce("notes.txt")
	if up.DownloadExpiresIn != 3600 || !strings.HasPrefix(up.UploadURL, s.url+"/files/"+up.FileID+"?") {
		t.Errorf("announced %+v", up)
	}
	path := "/api/v1/files/" + up.FileID
	waiting := fileJSON{FileID: up.FileID, Filename: "notes.txt", ContentType: "text/plain"}
	if diff := cmp.Diff(waiting, ok[fileJSON](s, "GET", path, "")); diff != "" {
		t.Error(diff)
	}
	if a := s.follow("GET", up.DownloadURL, nil); a.status != 404 || a.code != "not_found" {
		t.Errorf("too early: %d %s", a.status, a.raw)
	}
	if a := s.put(up.UploadURL, "hello, file"); a.status != 200 {
		t.Fatalf("upload: %d %s", a.status, a.raw)
	}
	got := ok[fileJSON](s, "GET", path, "")
	if got.Size == nil || *got.Size != 11 {
		t.Errorf("metadata %+v", got)
	}
	for _, link := range []string{up.DownloadURL, got.DownloadURL} {
		if a := s.follow("GET", link, nil); a.status != 200 || a.raw != "hello, file" {
			t.Errorf("download: %d %s", a.status, a.raw)
		}
	}
	a := s.follow("GET", up.DownloadURL, nil, "Range", "bytes=7-10")
	if a.status != 206 || a.raw != "file" || a.header.Get("Content-Range") != "bytes 7-10/11" {
		t.Errorf("a range: %d %q %v", a.status, a.raw, a.header)
	}
	a = s.follow("HEAD", up.DownloadURL, nil)
	want := map[string]string{
		"Content-Type": "text/plain", "Content-Length": "11", "Content-Disposition": `attachment; filename="notes.txt"`,
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox", "Referrer-Policy": "no-referrer",
		"Etag": fmt.Sprintf(`"%x"`, sha256.Sum256([]byte("hello, file"))),
	}
	for name, value := range want {
		if a.header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, a.header.Get(name), value)
		}
	}
	if diff := cmp.Diff([]string{up.FileID}, s.onDisk()); diff != "" {
		t.Error(diff)
	}
}

func TestFileIsItsOwnersAlone(t *testing.T) {
	s := start(t)
	path := "/api/v1/files/" + s.upload("a.txt", "a").FileID
	missing := s.do("GET", "/api/v1/files/file_unknown", s.key, "")
	if missing.status != 404 || missing.code != "not_found" {
		t.Errorf("unknown: %d %s", missing.status, missing.raw)
	}
	secret, hash, prefix := auth.NewKey(beeos.AgentKey)
	if err := s.db.Keys.Create(t.Context(), beeos.Key{ID: "bak", Kind: beeos.AgentKey, OwnerID: s.user, AgentID: s.agent, Prefix: prefix}, hash); err != nil {
		t.Fatal(err)
	}
	for who, key := range map[string]string{"somebody else": s.other, "a key of an agent": secret} {
		if a := s.do("GET", path, key, ""); a.status != 404 || a.raw != missing.raw {
			t.Errorf("%s: %d %s", who, a.status, a.raw)
		}
	}
	if a := s.do("GET", path, "", ""); a.status != 401 {
		t.Errorf("nobody: %d %s", a.status, a.raw)
	}
	// The key of an agent has files of its own.
	body := `{"filename":"b","content_type":"text/plain"}`
	var up uploadJSON
	if a := s.do("POST", "/api/v1/files/presign-upload", secret, body); a.status != 200 || json.Unmarshal(a.data, &up) != nil {
		t.Fatalf("an agent's key: %d %s", a.status, a.raw)
	}
	if a := s.put(up.UploadURL, "b"); a.status != 200 {
		t.Errorf("an agent's key uploads: %d %s", a.status, a.raw)
	}
	if a := s.do("GET", "/api/v1/files/"+up.FileID, s.key, ""); a.status != 404 {
		t.Errorf("the owner of the key: %d %s", a.status, a.raw)
	}
}

func TestPresignRefusals(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		body, code string
	}{
		{`{}`, "missing_param"},
		{`{"filename":"a"}`, "missing_param"},
		{`{"content_type":"text/plain"}`, "missing_param"},
		{`{"filename":"","content_type":"text/plain"}`, "invalid_param"},
		{`{"filename":"` + strings.Repeat("ä", 513) + `","content_type":"text/plain"}`, "invalid_param"},
		{`{"filename":"a","content_type":""}`, "invalid_param"},
		{`{"filename":"a","content_type":"text"}`, "invalid_param"},
		{`{"filename":"a","content_type":"text/plain\r\nX: y"}`, "invalid_param"},
		{`{"filename":"a","content_type":"text/plain; x=\"é\""}`, "invalid_param"},
		{`{"filename":"a","content_type":"text/` + strings.Repeat("x", 251) + `"}`, "invalid_param"},
		{`{"filename":7,"content_type":"text/plain"}`, "invalid_body"},
	} {
		if a := s.do("POST", "/api/v1/files/presign-upload", s.key, c.body); a.status != 400 || a.code != c.code {
			t.Errorf("%.80s: %d %s, want %s", c.body, a.status, a.raw, c.code)
		}
	}
}

// TestSignedLinkAllowsWhatItWasMadeFor: a link allows what it was made for, once and in time.
func TestSignedLinkAllowsWhatItWasMadeFor(t *testing.T) {
	s := start(t)
	up, theirs := s.announce("mine.txt"), s.upload("other.txt", "other")
	set := func(link, name, value string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	expired := s.files.Links.Link(blob.Grant{Method: "PUT", FileID: up.FileID, ContentType: "text/plain", MaxBytes: 10, Expires: s.now().Add(-time.Second)})
	elsewhere := (&blob.Signer{Key: s.files.Links.Key, Base: "https://other.example.com"}).Link(
		blob.Grant{Method: "PUT", FileID: up.FileID, ContentType: "text/plain", MaxBytes: 10, Expires: s.now().Add(time.Minute)})
	for _, c := range []struct {
		name, method, link string
		header             []string
	}{
		{name: "method GET", method: "GET"},
		{name: "method POST", method: "POST"},
		{name: "method DELETE", method: "DELETE"},
		{name: "upload by the link to download", link: up.DownloadURL},
		{name: "file id", link: strings.Replace(up.UploadURL, up.FileID, theirs.FileID, 1)},
		{name: "content type in the link", link: set(up.UploadURL, "type", "text/html"), header: []string{"Content-Type", "text/html"}},
		{name: "content type of the body", header: []string{"Content-Type", "text/html"}},
		{name: "content type with a charset", header: []string{"Content-Type", "text/plain; charset=utf-8"}},
		{name: "expiry", link: set(up.UploadURL, "exp", "9999999999")},
		{name: "size", link: set(up.UploadURL, "max", "999999999999")},
		{name: "owner", link: set(up.UploadURL, "owner", "user:"+s.user)},
		{name: "host of the request", header: []string{"Content-Type", "text/plain", "Host", "other.example.com"}},
		{name: "host of the link", link: s.url + strings.TrimPrefix(elsewhere, "https://other.example.com")},
		{name: "no signature", link: s.url + "/files/" + up.FileID},
		{name: "expired by a second", link: expired},
	} {
		if c.method == "" {
			c.method = "PUT"
		}
		if c.link == "" {
			c.link = up.UploadURL
		}
		if c.header == nil {
			c.header = []string{"Content-Type", "text/plain"}
		}
		if a := s.follow(c.method, c.link, strings.NewReader("x"), c.header...); a.status != 403 || a.code != "forbidden" {
			t.Errorf("%s: %d %s, want 403", c.name, a.status, a.raw)
		}
	}
	// None of these used the link up.
	if a := s.put(up.UploadURL, "first"); a.status != 200 {
		t.Errorf("the first use: %d %s", a.status, a.raw)
	}
	if a := s.put(up.UploadURL, "second"); a.status != 409 || a.code != "conflict" {
		t.Errorf("the second use: %d %s", a.status, a.raw)
	}
	if a := s.follow("GET", up.DownloadURL, nil); a.raw != "first" {
		t.Errorf("the file has %q", a.raw)
	}
	// Time passes.
	late := s.announce("late.txt")
	s.ahead.Store(int64(15*time.Minute + time.Second))
	if a := s.put(late.UploadURL, "x"); a.status != 403 {
		t.Errorf("an upload after 15 minutes: %d %s", a.status, a.raw)
	}
	if a := s.follow("GET", up.DownloadURL, nil); a.status != 200 {
		t.Errorf("a download after 15 minutes: %d %s", a.status, a.raw)
	}
	s.ahead.Store(int64(time.Hour + time.Second))
	if a := s.follow("GET", up.DownloadURL, nil); a.status != 403 {
		t.Errorf("a download after an hour: %d %s", a.status, a.raw)
	}
}

func TestTwoUploadsAtOnceOneWins(t *testing.T) {
	s := start(t)
	up := s.announce("race.txt")
	const n = 8
	answers := make([]answer, n)
	var g errgroup.Group
	for i := range n {
		g.Go(func() error {
			answers[i] = s.put(up.UploadURL, strings.Repeat(string(rune('a'+i)), 100_000))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	winner := ""
	for i, a := range answers {
		switch a.status {
		case 200:
			winner += string(rune('a' + i))
		case 409:
		default:
			t.Errorf("upload %d: %d %s", i, a.status, a.raw)
		}
	}
	if len(winner) != 1 {
		t.Fatalf("winners: %q", winner)
	}
	if a := s.follow("GET", up.DownloadURL, nil); a.raw != strings.Repeat(winner, 100_000) {
		t.Errorf("the file is not the winner's: %.20q, %d bytes", a.raw, len(a.raw))
	}
	if diff := cmp.Diff([]string{up.FileID}, s.onDisk()); diff != "" {
		t.Error(diff)
	}
}

// TestUploadLargerThanSignedIsRefused: too much is refused and removed, whether its length
// was announced or not.
func TestUploadLargerThanSignedIsRefused(t *testing.T) {
	s := start(t)
	up := s.announce("large.txt")
	link := s.files.Links.Link(blob.Grant{Method: "PUT", FileID: up.FileID, ContentType: "text/plain", MaxBytes: 10, Expires: s.now().Add(time.Minute)})
	for name, body := range map[string]io.Reader{
		"announced":   strings.NewReader("eleven byte"),
		"unannounced": io.LimitReader(strings.NewReader("eleven byte"), 100),
		"far too big": io.LimitReader(strings.NewReader(strings.Repeat("x", 200_000)), 1<<30),
	} {
		if a := s.follow("PUT", link, body, "Content-Type", "text/plain"); a.status != 413 || a.code != "payload_too_large" {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
		if left := s.onDisk(); len(left) != 0 {
			t.Errorf("%s: left behind %q", name, left)
		}
	}
	if a := s.follow("GET", up.DownloadURL, nil); a.status != 404 {
		t.Errorf("there is something: %d %s", a.status, a.raw)
	}
	if a := s.put(link, "ten bytes!"); a.status != 200 {
		t.Errorf("what fits: %d %s", a.status, a.raw)
	}
	if want := int64(files.MaxBytes); !strings.Contains(up.UploadURL, fmt.Sprintf("max=%d&", want)) {
		t.Errorf("%s does not say %d", up.UploadURL, want)
	}
}

// TestBrokenUploadCanBeRepeated: a sender that goes away leaves nothing, and
// its link still works.
func TestBrokenUploadCanBeRepeated(t *testing.T) {
	s := start(t)
	up := s.announce("broken.txt")
	grant := blob.Grant{Method: "PUT", FileID: up.FileID, ContentType: "text/plain", MaxBytes: 100}
	broken := io.MultiReader(strings.NewReader("half of "), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := s.files.Receive(t.Context(), grant, broken); beeos.CodeOf(err) != beeos.InvalidBody {
		t.Errorf("error %v", err)
	}
	if left := s.onDisk(); len(left) != 0 {
		t.Errorf("left behind %q", left)
	}
	if a := s.put(up.UploadURL, "whole"); a.status != 200 {
		t.Errorf("again: %d %s", a.status, a.raw)
	}
}

// TestFileNamesAreMetadata: no name makes a path, and no name breaks a header.
func TestFileNamesAreMetadata(t *testing.T) {
	s := start(t)
	for _, name := range []string{
		"../../etc/passwd", "CON", strings.Repeat("a", 512), "photo\u202egpj.exe", "a\r\nSet-Cookie: x=y\nb", `"; filename="x`, "日本語.txt",
	} {
		up := s.upload(name, "content")
		if got := ok[fileJSON](s, "GET", "/api/v1/files/"+up.FileID, ""); got.Filename != name {
			t.Errorf("%q is kept as %q", name, got.Filename)
		}
		a := s.follow("GET", up.DownloadURL, nil)
		if a.status != 200 || a.raw != "content" || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %d %s %v", name, a.status, a.raw, a.header)
		}
		kind, params, err := mime.ParseMediaType(a.header.Get("Content-Disposition"))
		if err != nil || kind != "attachment" || params["filename"] != blob.SafeName(name) {
			t.Errorf("%q: %s %q, %v", name, kind, params, err)
		}
		if strings.ContainsAny(params["filename"], "/\\\r\n\x00\u202e") {
			t.Errorf("%q is offered as %q", name, params["filename"])
		}
	}
	// A zero byte does not even pass the door.
	if a := s.do("POST", "/api/v1/files/presign-upload", s.key, `{"filename":"a\u0000b","content_type":"text/plain"}`); a.status != 400 || a.code != "invalid_json" {
		t.Errorf("a zero byte: %d %s", a.status, a.raw)
	}
	for _, name := range s.onDisk() {
		if id, ok := strings.CutPrefix(name, "file_"); !ok || beeos.IDTime(id).IsZero() {
			t.Errorf("there is a file of the name %q", name)
		}
	}
}

func TestOldFilesAreRemoved(t *testing.T) {
	s := start(t)
	never, kept := s.announce("never.txt"), s.upload("kept.txt", "x")
	s.ahead.Store(int64(time.Hour))
	if err := s.files.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.do("GET", "/api/v1/files/"+never.FileID, s.key, ""); a.status != 404 {
		t.Errorf("never uploaded: %d %s", a.status, a.raw)
	}
	if diff := cmp.Diff([]string{kept.FileID}, s.onDisk()); diff != "" {
		t.Error(diff)
	}
	s.ahead.Store(int64(31 * 24 * time.Hour))
	if err := s.files.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.do("GET", "/api/v1/files/"+kept.FileID, s.key, ""); a.status != 404 || len(s.onDisk()) != 0 {
		t.Errorf("after a month: %d %s, %q", a.status, a.raw, s.onDisk())
	}
}
