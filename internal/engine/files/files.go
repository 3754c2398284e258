// Package files keeps the files of callers: a caller announces one, uploads its
// bytes by a signed link and attaches it to calls (attach.go); after a while it is
// gone.
package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/store/files"
)

// How large a file may be, and how long a sender may take for it.
const (
	MaxBytes   = 64 << 20
	UploadTime = 10 * time.Minute
)

const (
	uploadWithin   = 15 * time.Minute    // to begin an upload
	claimLife      = 15 * time.Minute    // longer than UploadTime, by what a disk may take at the end
	downloadWithin = time.Hour           // a link for the owner
	linkLife       = 24 * time.Hour      // a link for an agent, at least
	fileLife       = 30 * 24 * time.Hour // a file after its upload

	maxFilename    = 512 // characters
	maxContentType = 255
)

// Files is what happens to files: a caller announces one, uploads its bytes by
// a signed link, attaches it to calls, and after a while it is gone.
type Files struct {
	Table *files.Table
	Blobs blob.Store // nil = this process serves no files, it only links to them
	Links *blob.Signer
	Log   *slog.Logger
	Now   func() time.Time
}

// Upload is a file to come: where its bytes go, and where they will be.
type Upload struct {
	FileID          string
	UploadURL       string // takes one PUT with the same Content-Type
	DownloadURL     string
	DownloadExpires time.Duration
}

// Announce makes a file of the caller's that has no bytes yet.
func (f *Files) Announce(ctx context.Context, c beeos.Caller, filename, contentType string) (Upload, error) {
	return f.announce(ctx, c.Principal(), c.UserID, filename, contentType, downloadWithin)
}

// Make is Announce by an agent, for the principal that called it; the user is
// who stands behind the principal. The link outlives the reply that has it.
func (f *Files) Make(ctx context.Context, principal, user, filename, contentType string) (Upload, error) {
	return f.announce(ctx, principal, user, filename, contentType, linkLife)
}

func (f *Files) announce(ctx context.Context, owner, user, filename, contentType string, link time.Duration) (Upload, error) {
	now := f.Now()
	id := "file_" + beeos.NewID()
	if err := f.create(ctx, id, owner, user, filename, contentType); err != nil {
		return Upload{}, err
	}
	return Upload{
		FileID: id,
		UploadURL: f.Links.Link(blob.Grant{
			Method: http.MethodPut, FileID: id, ContentType: contentType, MaxBytes: MaxBytes, Expires: now.Add(uploadWithin),
		}),
		DownloadURL: f.link(id, now.Add(link)), DownloadExpires: link,
	}, nil
}

func (f *Files) create(ctx context.Context, id, owner, user, filename, contentType string) error {
	if filename == "" || utf8.RuneCountInString(filename) > maxFilename {
		return beeos.Errorf(beeos.InvalidParam, "filename must have 1 to %d characters", maxFilename)
	}
	if err := checkContentType(contentType); err != nil {
		return err
	}
	now := f.Now()
	return f.Table.Create(ctx, files.File{
		ID: id, Owner: owner, OwnerID: user, Filename: filename, ContentType: contentType,
		CreatedAt: now, ExpiresAt: now.Add(uploadWithin + claimLife),
	})
}

func checkContentType(s string) error {
	kind, _, err := mime.ParseMediaType(s)
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if err != nil || !plain || !strings.Contains(kind, "/") || len(s) > maxContentType {
		return beeos.Errorf(beeos.InvalidParam, "content_type must be a media type like text/plain, of at most %d characters", maxContentType)
	}
	return nil
}

// Link lets whoever has it download the file for a while.
func (f *Files) Link(id string) string { return f.link(id, f.Now().Add(downloadWithin)) }

func (f *Files) link(id string, until time.Time) string {
	return f.Links.Link(blob.Grant{Method: http.MethodGet, FileID: id, Expires: until})
}

// Find returns a file of the caller's; anybody else's is not found.
func (f *Files) Find(ctx context.Context, c beeos.Caller, id string) (files.File, error) {
	file, err := f.Table.Get(ctx, id)
	if err == nil && file.Owner != c.Principal() {
		err = beeos.Errorf(beeos.NotFound, "there is no such file; check the id")
	}
	if err != nil {
		return files.File{}, err
	}
	return file, nil
}

// Receive takes the bytes of a file whose upload link gave g. Of several
// uploads of one file one wins; one that fails can be tried again.
func (f *Files) Receive(ctx context.Context, g blob.Grant, body io.Reader) (files.File, error) {
	now := f.Now()
	claim := beeos.NewID()
	if err := f.Table.Claim(ctx, g.FileID, claim, now, now.Add(claimLife)); err != nil {
		return files.File{}, err
	}
	file, err := f.receive(ctx, g, claim, body)
	if err != nil {
		if e := f.Table.Release(context.WithoutCancel(ctx), g.FileID, claim); e != nil {
			f.Log.WarnContext(ctx, "an upload that failed cannot be tried again before its claim ends", "file", g.FileID, "err", e)
		}
	}
	return file, err
}

func (f *Files) receive(ctx context.Context, g blob.Grant, claim string, body io.Reader) (files.File, error) {
	// Bytes that come after the claim is void might fall on somebody else's.
	ctx, cancel := context.WithTimeout(ctx, UploadTime)
	defer cancel()
	src := &source{r: body}
	size, sum, err := f.Blobs.Put(ctx, g.FileID, src, g.MaxBytes)
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		return files.File{}, beeos.Errorf(beeos.PayloadTooLarge, "the file is larger than %d bytes, the most this link takes", g.MaxBytes)
	case err != nil && src.err != nil:
		return files.File{}, beeos.Wrap(beeos.InvalidBody, err, "the file could not be read to its end; send it again")
	case err != nil:
		return files.File{}, err
	}
	file := files.File{ID: g.FileID, Size: size, SHA256: sum, ExpiresAt: f.Now().Add(fileLife)}
	if err := f.Table.MarkStored(ctx, file, claim); err != nil {
		return files.File{}, err
	}
	return f.Table.Get(ctx, g.FileID)
}

// Store is Announce and Receive in one, for who has the bytes at hand. The same
// key is the same file: to send it again stores nothing new.
func (f *Files) Store(ctx context.Context, c beeos.Caller, key, filename, contentType string, body io.Reader) (files.File, error) {
	if f.Blobs == nil {
		return files.File{}, beeos.Errorf(beeos.InvalidParam, "this process keeps no files; attach them over the REST surface")
	}
	sum := sha256.Sum256([]byte(c.Principal() + "\x00" + key))
	id := "file_" + hex.EncodeToString(sum[:16])
	file, err := f.Table.Get(ctx, id)
	switch {
	case err == nil && file.Stored:
		return file, nil
	case beeos.CodeOf(err) == beeos.NotFound:
		err = f.create(ctx, id, c.Principal(), c.UserID, filename, contentType)
	}
	if err != nil {
		return files.File{}, err
	}
	return f.Receive(ctx, blob.Grant{Method: http.MethodPut, FileID: id, ContentType: contentType, MaxBytes: MaxBytes}, body)
}

// source remembers that it was the sender that failed, not the disk.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Open opens a stored file for whoever has a link to it.
func (f *Files) Open(ctx context.Context, id string) (files.File, io.ReadSeekCloser, error) {
	file, err := f.Table.Get(ctx, id)
	if err == nil && !file.Stored {
		err = beeos.Errorf(beeos.NotFound, "the file has not been uploaded yet")
	}
	if err != nil {
		return files.File{}, nil, err
	}
	r, err := f.Blobs.Open(ctx, id)
	if errors.Is(err, fs.ErrNotExist) { // its time has just ended, or the bytes were lost
		err = beeos.Wrap(beeos.NotFound, err, "the file is not there any more; upload it again")
	}
	return file, r, err
}

const (
	cleanEvery = time.Minute
	cleanSlice = 200
	tempLife   = 2 * claimLife
)

// Run removes, until ctx ends, files whose time is over or that never came.
func (f *Files) Run(ctx context.Context) error {
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	for {
		if err := f.Clean(ctx); err != nil && ctx.Err() == nil {
			f.Log.Error("remove old files", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Clean is one round of Run. A row goes after its bytes, so that a crash in
// between leaves something to find.
func (f *Files) Clean(ctx context.Context) error {
	for {
		ids, err := f.Table.ListExpired(ctx, f.Now(), cleanSlice)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := f.Blobs.Delete(ctx, id); err != nil {
				return err
			}
			if err := f.Table.Forget(ctx, id); err != nil {
				return err
			}
		}
		if len(ids) < cleanSlice {
			return f.Blobs.Sweep(ctx, f.Now().Add(-tempLife))
		}
	}
}
