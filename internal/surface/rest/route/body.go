package route

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Body limits: what carries a message may be big, the rest is settings.
const (
	MessageLimit = 1 << 20
	SettingLimit = 64 << 10
)

// Shape says which members a request body may have and where their values
// go. Names match exactly, which encoding/json alone would not insist on.
type Shape map[string]any

// Strictness says what becomes of members that a route does not know.
type Strictness bool

const (
	Strict  Strictness = true  // refused: a misspelt setting must not pass as "not set"
	Lenient Strictness = false // ignored: newer clients can talk to us
)

// ReadBody decodes a body that may carry a message.
func (r *Request) ReadBody(s Strictness, want Shape) error { return r.readUpTo(MessageLimit, s, want) }

// ReadSettings decodes a small body.
func (r *Request) ReadSettings(s Strictness, want Shape) error {
	return r.readUpTo(SettingLimit, s, want)
}

// ReadWhole returns the bytes of a body that somebody else has signed.
func (r *Request) ReadWhole(limit int64) ([]byte, error) {
	return httpd.ReadBody(r.w, r.Request, limit)
}

// ReadOptional decodes a body that may be absent.
func (r *Request) ReadOptional(limit int64, s Strictness, want Shape) error {
	if r.ContentLength == 0 || r.Body == http.NoBody {
		return nil
	}
	return r.readUpTo(limit, s, want)
}

func (r *Request) readUpTo(limit int64, s Strictness, want Shape) error {
	body, err := httpd.ReadJSON(r.w, r.Request, limit)
	if err != nil {
		return err
	}
	return want.Decode(body, s)
}

// Decode takes the members of a JSON object.
func (want Shape) Decode(body []byte, s Strictness) error {
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return beeos.Errorf(beeos.InvalidBody, "the body must be a JSON object")
	}
	for name, raw := range strictjson.Fields(body) {
		to, known := want[name]
		switch {
		case !known && s == Strict:
			return beeos.Errorf(beeos.InvalidBody, "unknown member %q; this route knows %s", name, strings.Join(slices.Sorted(maps.Keys(want)), ", "))
		case !known:
			continue
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return beeos.Errorf(beeos.InvalidBody, "%s must be %s", name, describeType(to))
		}
	}
	return nil
}

// describeType says in words what a member should have been.
func describeType(to any) string {
	switch to.(type) {
	case *string, **string, *beeos.MessageType:
		return "a string"
	case *int, **int, *int64:
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
