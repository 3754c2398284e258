package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// shape says which members a request body may have and where their values
// go. Names match exactly, which encoding/json alone would not insist on.
type shape map[string]any

// read decodes a body of up to limit bytes. Unknown members are refused when
// strict, since a misspelt setting must not pass as "not set"; elsewhere they
// are ignored, so that newer clients can talk to us.
func read(w http.ResponseWriter, r *http.Request, limit int64, strict bool, want shape) error {
	body, err := httpd.ReadJSON(w, r, limit)
	if err != nil {
		return err
	}
	return want.decode(body, strict)
}

func (want shape) decode(body []byte, strict bool) error {
	if !isObject(body) {
		return beeos.Errorf(beeos.InvalidBody, "the body must be a JSON object")
	}
	for name, raw := range strictjson.Fields(body) {
		to, known := want[name]
		switch {
		case !known && strict:
			return beeos.Errorf(beeos.InvalidBody, "unknown member %q; this route knows %s", name, want.names())
		case !known:
			continue
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return beeos.Errorf(beeos.InvalidBody, "%s must be %s", name, describe(to))
		}
	}
	return nil
}

func (want shape) names() string {
	return strings.Join(slices.Sorted(maps.Keys(want)), ", ")
}

// describe says in words what a member should have been.
func describe(to any) string {
	switch to.(type) {
	case *string, **string, *beeos.MessageType:
		return "a string"
	case *int, *int64:
		return "an integer"
	case *bool, **bool:
		return "true or false"
	case *map[string]string:
		return "an object of strings"
	case *json.RawMessage:
		return "a JSON value"
	case *time.Time:
		return "a time like 2027-01-31T12:00:00Z"
	case *[]json.RawMessage:
		return "a list"
	case *[]string:
		return "a list of strings"
	case *map[string]json.RawMessage:
		return "an object"
	case *[]files.Attachment:
		return "a list of {file_id, filename, content_type}"
	}
	return "of another type"
}

func isObject(b []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}

// query reads an integer parameter of the URL.
func query(r *http.Request, name string, def, low, high int64) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < low || n > high {
		return 0, beeos.Errorf(beeos.InvalidParam, "%s must be an integer from %d to %d", name, low, high)
	}
	return n, nil
}
