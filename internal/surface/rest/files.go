package rest

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/files"
	filestore "github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// uploadView is the contract's PresignUploadResponse.
type uploadView struct {
	FileID            string `json:"file_id"`
	UploadURL         string `json:"upload_url"`
	DownloadURL       string `json:"download_url"`
	DownloadExpiresIn int64  `json:"download_expires_in"`
}

// fileView is the contract's FileMetaResponse; a file that has not been
// uploaded has neither size nor link.
type fileView struct {
	FileID      string `json:"file_id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        *int64 `json:"size,omitempty"`
	DownloadURL string `json:"download_url,omitempty"`
}

func (s *Surface) viewFile(f filestore.File) fileView {
	v := fileView{FileID: f.ID, Filename: f.Filename, ContentType: f.ContentType}
	if f.Stored {
		v.Size, v.DownloadURL = &f.Size, s.opt.Files.Link(f.ID)
	}
	return v
}

func (s *Surface) presignUpload(r *route.Request) (any, error) {
	var filename, contentType *string
	err := r.ReadSettings(route.Lenient, route.Shape{"filename": &filename, "content_type": &contentType})
	switch {
	case err != nil:
		return nil, err
	case filename == nil:
		return nil, beeos.Errorf(beeos.MissingParam, "filename is required")
	case contentType == nil:
		return nil, beeos.Errorf(beeos.MissingParam, "content_type is required")
	}
	up, err := s.opt.Files.Announce(r.Context(), r.Caller, *filename, *contentType)
	return uploadView{up.FileID, up.UploadURL, up.DownloadURL, int64(up.DownloadExpires / time.Second)}, err
}

func (s *Surface) getFile(r *route.Request) (any, error) {
	f, err := s.opt.Files.Find(r.Context(), r.Caller, r.PathValue("id"))
	return s.viewFile(f), err
}

// serveSignedFile serves the links: whoever has one needs no other credential.
func (s *Surface) serveSignedFile(r *route.Request) (any, error) {
	link, err := s.opt.Files.Links.Check(r.Method, r.PathValue("id"), r.URL.RawQuery, s.opt.Now())
	if err != nil {
		return nil, err
	}
	return route.Writer(func(w http.ResponseWriter) error {
		if link.Method == http.MethodPut {
			return s.upload(w, r, link)
		}
		return s.download(w, r.Request, link)
	}), nil
}

func (s *Surface) upload(w http.ResponseWriter, r *route.Request, link blob.Grant) error {
	if given := r.Header["Content-Type"]; len(given) != 1 || given[0] != link.ContentType {
		return beeos.Errorf(beeos.Forbidden, "this link was made for Content-Type: %s; send the file with that", link.ContentType)
	}
	if r.ContentLength > link.MaxBytes {
		w.Header().Set("Connection", "close")
		return beeos.Errorf(beeos.PayloadTooLarge, "the file is larger than %d bytes, the most this link takes", link.MaxBytes)
	}
	httpd.AllowBody(w, files.UploadTime)
	f, err := s.opt.Files.Receive(r.Context(), link, r.Body)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, s.viewFile(f))
	return nil
}

// download sends a file in a way that no browser shows or runs it.
func (s *Surface) download(w http.ResponseWriter, r *http.Request, link blob.Grant) error {
	f, content, err := s.opt.Files.Open(r.Context(), link.FileID)
	if errors.Is(err, fs.ErrNotExist) {
		return beeos.Wrap(beeos.InternalError, err, "the file's bytes are not on this server; see that all servers share one folder for files")
	}
	if err != nil {
		return err
	}
	defer content.Close()
	h := w.Header()
	h.Set("Content-Type", f.ContentType)
	h.Set("Content-Disposition", blob.Attachment(f.Filename))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the link is a permission
	h.Set("Cache-Control", "private")
	h.Set("ETag", `"`+hex.EncodeToString(f.SHA256)+`"`)
	http.ServeContent(w, r, "", time.Time{}, content)
	return nil
}
