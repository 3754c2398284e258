package httpd

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
	"golang.org/x/sync/semaphore"
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
	arriving := &arrivingBody{Reader: http.MaxBytesReader(w, r.Body, limit)}
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

// All bodies that are on their way at one moment share this much memory, on all
// listeners: whoever begins thousands of large ones and ends none can fill no
// more. A small part of each is free, so that short requests always get in.
const (
	arrivingMost  = 64 << 20
	arrivingFree  = 64 << 10
	announcedMost = 8 << 10 // what gets its memory when it is announced
)

var (
	arrivingRoom = semaphore.NewWeighted(arrivingMost)
	errNoRoom    = &beeos.Error{
		Code: beeos.AgentServiceUnavailable, RetryAfter: bodyTime,
		Message: "the server is receiving too much at once; send the request again in a moment",
	}
)

// arrivingBody takes room for what has arrived.
type arrivingBody struct {
	io.Reader
	size, held int64
}

func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.size += int64(n)
	if more := b.size - arrivingFree - b.held; more > 0 {
		if !arrivingRoom.TryAcquire(more) {
			return 0, errNoRoom
		}
		b.held += more
	}
	return n, err
}

func (b *arrivingBody) release() { arrivingRoom.Release(b.held) }

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
