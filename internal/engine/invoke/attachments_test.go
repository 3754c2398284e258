package invoke

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	filestore "github.com/beeos/beeos/internal/store/files"
)

// withFile is a node on which the caller of aCall has one stored file.
func withFile(t *testing.T) (*node, *files.Files, filestore.File) {
	t.Helper()
	n := lone(t, func(o *Options) {
		o.Files = &files.Files{Links: &blob.Signer{Key: blob.NewKey(), Base: "http://rest"}, Now: time.Now}
	})
	kept := n.opt.Files
	now := time.Now().UTC()
	f := filestore.File{ID: "file_1", Owner: "user:u", OwnerID: "u", Filename: "a.txt", ContentType: "text/plain", Size: 5, SHA256: []byte{1}, CreatedAt: now, ExpiresAt: now.Add(time.Minute)}
	for _, err := range []error{
		n.db.People.CreateUser(t.Context(), beeos.User{ID: "u", Email: "u@example.com", Name: "u"}),
		n.db.Files.Create(t.Context(), f),
		n.db.Files.Claim(t.Context(), f.ID, "c", now, now.Add(time.Minute)),
		n.db.Files.MarkStored(t.Context(), f, "c"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return n, kept, f
}

// TestAttachedFileOutlivesItsRequest: a request that may wait for days takes
// the file and the link with it.
func TestAttachedFileOutlivesItsRequest(t *testing.T) {
	n, kept, f := withFile(t)
	frames := make(chan beeos.Frame, 1)
	stop, err := n.bus.Serve("agent_a", func(d bus.Dispatch) bool {
		var f beeos.Frame
		if err := json.Unmarshal(d.Frame, &f); err != nil {
			t.Error(err)
		}
		frames <- f
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	week := time.Now().Add(7 * 24 * time.Hour)
	r := aCall(anAgent(beeos.DeliverPush), "look")
	r.Deadline, r.Parts, r.Attachments = week, json.RawMessage(`[{"type":"custom","x": 1}]`), []files.Attachment{{FileID: f.ID}}
	if _, err := n.Send(t.Context(), *r); err != nil {
		t.Fatal(err)
	}
	var parts []struct{ Type, URL string }
	if err := json.Unmarshal((<-frames).Parts, &parts); err != nil || len(parts) != 2 || parts[0].Type != "custom" || parts[1].Type != "file" {
		t.Fatalf("parts %+v, %v", parts, err)
	}
	link, err := url.Parse(parts[1].URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Links.Check(http.MethodGet, f.ID, link.RawQuery, week.Add(-time.Minute)); err != nil {
		t.Errorf("the link does not last as long as the request: %v", err)
	}
	if file, err := n.db.Files.Get(t.Context(), f.ID); err != nil || file.ExpiresAt.Before(week.Add(-time.Millisecond)) {
		t.Errorf("the file is kept until %v, %v; the request until %v", file.ExpiresAt, err, week)
	}
}

// TestAttachOnce: the next round of a call is the same request again, whose
// files the agent must not get twice.
func TestAttachOnce(t *testing.T) {
	n, _, f := withFile(t)
	r := aCall(anAgent(beeos.DeliverQueue), "look")
	r.IdempotencyKey, r.Attachments = "k", []files.Attachment{{FileID: f.ID}}
	var first []byte
	for _, key := range []string{"one round", "the next"} {
		r.IdempotencyKey, r.TurnID = key, ""
		print, err := fingerprint(r)
		if err != nil || first != nil && string(print) != string(first) {
			t.Errorf("%s: another fingerprint than before, %v", key, err)
		}
		first = print
		m, err := n.Send(t.Context(), *r)
		var parts []struct{ URL string }
		if err != nil || json.Unmarshal(m.Parts, &parts) != nil || len(parts) != 1 || parts[0].URL == "" {
			t.Errorf("%s: parts %+v, %v; want the file", key, parts, err)
		}
	}
}

// TestAttachmentsNeedAFileStore: a node that cannot make links says what to set.
func TestAttachmentsNeedAFileStore(t *testing.T) {
	n := lone(t, nil)
	r := aCall(anAgent(beeos.DeliverQueue), "look")
	r.Attachments = []files.Attachment{{FileID: "file_1"}}
	_, err := n.Send(t.Context(), *r)
	if beeos.CodeOf(err) != beeos.InvalidParam || !strings.Contains(err.Error(), "OPENAPI_PUBLIC_URL") {
		t.Errorf("error %v", err)
	}
}

// TestFileWithoutBytes: a file that is removed while somebody opens it, or whose
// bytes did not come back with a backup, is not there.
func TestFileWithoutBytes(t *testing.T) {
	_, kept, f := withFile(t)
	disk, err := blob.OpenDisk(filepath.Join(t.TempDir(), "files"))
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	kept.Blobs = disk
	if _, _, err := kept.Open(t.Context(), f.ID); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("opened: %v, want not found", err)
	}
}
