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

// What is read of the body of somebody who is refused: little, and not for long.
const (
	RefusedBody   = 16 << 10
	refusedWithin = 2 * time.Second
)

// ReadRefused reads the JSON of a request that is refused anyway, for the id that
// the refusal is to carry; nil = it cannot be had.
func ReadRefused(w http.ResponseWriter, r *http.Request) []byte {
	if r.Method != http.MethodPost || r.ContentLength > RefusedBody {
		return nil
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedWithin)) //nolint:errcheck // then the listener's own holds
	body, _ := io.ReadAll(io.LimitReader(r.Body, RefusedBody))                   // what is cut off is not JSON
	if strictjson.Check(body) != nil {
		return nil
	}
	return body
}

// ReadBody reads at most limit bytes of body, whatever they are. A longer
// body is PayloadTooLarge; what is left of it is not read and the connection
// closes.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge(limit)
	}
	if r.ContentLength < 0 || r.ContentLength > announcedMost {
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
	arriving := &arrivingBody{Reader: http.MaxBytesReader(w, r.Body, limit), sender: senderOf(r)}
	defer arriving.release()
	_, err := b.ReadFrom(arriving)
	var over *http.MaxBytesError
	switch {
	case errors.Is(err, errNoRoom):
		w.Header().Set("Connection", "close")
		return nil, err
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
