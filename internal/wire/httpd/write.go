package httpd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
)

// buffers are for bodies that are written and forgotten. Large ones are left
// to the garbage collector, or one big answer would stay in memory forever.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const pooledBuffer = 64 << 10

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= pooledBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// WriteJSON writes v as the whole body.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// v is a type of ours, so this is a bug; Handler turns it into a 500.
		panic("httpd: encode response: " + err.Error())
	}
	h := w.Header()
	h["Content-Type"] = contentJSON
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the client is gone; nobody is left to tell
}

// contentJSON is shared by all responses; net/http only reads it.
var contentJSON = []string{"application/json"}

type dataBody struct {
	Success bool `json:"success"`
	Data    any  `json:"data"`
}

// WriteData answers {"success":true,"data":v}.
func WriteData(w http.ResponseWriter, status int, v any) {
	WriteJSON(w, status, dataBody{true, v})
}
