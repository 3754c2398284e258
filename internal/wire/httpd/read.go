package httpd

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// bodyTime is how long a client may take to send a body of ours; without it
// a byte a minute would hold a connection forever.
const bodyTime = 30 * time.Second

// ReadJSON reads a request's JSON body: Content-Type application/json, at
// most limit bytes, one strict pass. The slice is the caller's to keep.
// A wrong Content-Type is InvalidBody around ErrMediaType.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if err := mediaType(r); err != nil {
		return nil, err
	}
	body, err := ReadBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	if err := strictjson.Check(body); err != nil {
		return nil, err
	}
	return body, nil
}

// ReadBody reads at most limit bytes of body, whatever they are. A longer
// body is PayloadTooLarge; what is left of it is not read and the connection
// closes.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge(limit)
	}
	deadline := http.NewResponseController(w)
	if deadline.SetReadDeadline(time.Now().Add(bodyTime)) == nil {
		defer deadline.SetReadDeadline(time.Time{}) //nolint:errcheck // it worked a moment ago
	}
	if r.ContentLength < 0 || r.ContentLength > pooledBuffer {
		return readGrowing(w, r, limit)
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, cutShort(err)
	}
	return body, nil
}

// readGrowing reads a body that is large or of unknown length. Memory follows
// what has arrived, not what was announced, and the pooled buffer makes
// growing cheap; the caller gets a copy of the right size.
func readGrowing(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	case err != nil:
		return nil, cutShort(err)
	}
	return bytes.Clone(b.Bytes()), nil
}

func cutShort(err error) error {
	return beeos.Wrap(beeos.InvalidBody, err, "the body could not be read to its end; send it again")
}

func tooLarge(limit int64) error {
	return beeos.Errorf(beeos.PayloadTooLarge, "the body is larger than %d bytes, the most this route takes", limit)
}

// mediaType refuses everything but plain application/json. Compressed bodies
// are refused too: nobody sends them, and a small one can hold gigabytes.
func mediaType(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	name, _, _ := strings.Cut(given, ";")
	if !strings.EqualFold(strings.TrimSpace(name), "application/json") {
		return beeos.Wrap(beeos.InvalidBody, ErrMediaType, "send the body with Content-Type: application/json")
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return beeos.Wrap(beeos.InvalidBody, ErrMediaType, "send the body without Content-Encoding")
	}
	return nil
}
