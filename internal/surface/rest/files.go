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
		v.Size, v.DownloadURL = &f.Size, s.Files.Link(f.ID)
	}
	return v
}

func (s *Surface) presignUpload(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	var filename, contentType *string
	err := read(w, r, settingLimit, false, shape{"filename": &filename, "content_type": &contentType})
	switch {
	case err != nil:
		return err
	case filename == nil:
		return beeos.Errorf(beeos.MissingParam, "filename is required")
	case contentType == nil:
		return beeos.Errorf(beeos.MissingParam, "content_type is required")
	}
	up, err := s.Files.Announce(r.Context(), c, *filename, *contentType)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, uploadView{up.FileID, up.UploadURL, up.DownloadURL, int64(up.DownloadExpires / time.Second)})
	return nil
}

func (s *Surface) getFile(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	f, err := s.Files.Find(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, s.viewFile(f))
	return nil
}

// signedFile serves the links: whoever has one needs no other credential.
func (s *Surface) signedFile(w http.ResponseWriter, r *http.Request) {
	g, err := s.Files.Links.Check(r.Method, r.PathValue("id"), r.URL.RawQuery, s.now())
	switch {
	case err != nil:
	case g.Method == http.MethodPut:
		err = s.upload(w, r, g)
	default:
		err = s.download(w, r, g)
	}
	if err != nil {
		httpd.WriteError(w, r, err)
	}
}

func (s *Surface) upload(w http.ResponseWriter, r *http.Request, g blob.Grant) error {
	if given := r.Header["Content-Type"]; len(given) != 1 || given[0] != g.ContentType {
		return beeos.Errorf(beeos.Forbidden, "this link was made for Content-Type: %s; send the file with that", g.ContentType)
	}
	if r.ContentLength > g.MaxBytes {
		w.Header().Set("Connection", "close")
		return beeos.Errorf(beeos.PayloadTooLarge, "the file is larger than %d bytes, the most this link takes", g.MaxBytes)
	}
	deadline := http.NewResponseController(w)
	if deadline.SetReadDeadline(time.Now().Add(files.UploadTime)) == nil {
		defer deadline.SetReadDeadline(time.Time{}) //nolint:errcheck // it worked a moment ago
	}
	f, err := s.Files.Receive(r.Context(), g, r.Body)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, s.viewFile(f))
	return nil
}

// download sends a file in a way that no browser shows or runs it.
func (s *Surface) download(w http.ResponseWriter, r *http.Request, g blob.Grant) error {
	f, content, err := s.Files.Open(r.Context(), g.FileID)
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
