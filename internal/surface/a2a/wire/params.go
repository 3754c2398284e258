package wire

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Params are the members of an object by their name in camelCase; the
// protocol's JSON rules let clients write snake_case as well. The bytes have
// passed strictjson.Strict. What is read of the wrong type is its zero value, and
// Err tells the first such trouble, in an object or in one inside it.
type Params struct {
	members map[string][]byte
	err     *error
}

// ReadParams takes an object apart; null and nothing are an empty one.
func ReadParams(raw []byte) (Params, error) {
	p := readObject(bytes.TrimSpace(raw), "params", new(error))
	return p, p.Err()
}

// readObject refuses two spellings of one name: whoever checks and whoever acts
// might each take another.
func readObject(raw []byte, what string, err *error) Params {
	p := Params{map[string][]byte{}, err}
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return p
	}
	if raw[0] != '{' {
		p.fail("%s must be an object", what)
		return p
	}
	for name, value := range strictjson.Fields(raw) {
		name = camelCase(name)
		if _, twice := p.members[name]; twice {
			p.fail("%s is given twice, in two spellings", name)
		}
		p.members[name] = value
	}
	return p
}

// camelCase turns snake_case into camelCase.
func camelCase(name string) string {
	if !strings.Contains(name, "_") {
		return strings.Clone(name)
	}
	var b strings.Builder
	up := false
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' && i > 0:
			up = true
			continue
		case up && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}

// Err is the first trouble with what was read so far.
func (p Params) Err() error { return *p.err }

func (p Params) fail(format string, args ...any) {
	if *p.err == nil {
		*p.err = beeos.Errorf(beeos.InvalidParam, format, args...)
	}
}

// AddQuery adds the parameters of a URL, as strings.
func (p Params) AddQuery(q url.Values) error {
	for name, values := range q {
		switch {
		case len(values) > 1:
			p.fail("%.60s is given twice", name)
		case name != "A2A-Version":
			p.Set(camelCase(name), values[0])
		}
	}
	return p.Err()
}

// Set adds a string.
func (p Params) Set(name, value string) {
	raw, _ := json.Marshal(value) //nolint:errcheck // a string
	p.members[name] = raw
}

// Has reports whether there is a member that is not null.
func (p Params) Has(name string) bool { return p.Raw(name) != nil }

// Raw returns a member as it was sent; nil when there is none, or null.
func (p Params) Raw(name string) []byte {
	if raw := p.members[name]; !bytes.Equal(raw, []byte("null")) {
		return raw
	}
	return nil
}

// Text returns a string member, or "".
func (p Params) Text(name string) string {
	raw := p.Raw(name)
	s, ok := strictjson.StringValue(raw)
	if !ok && raw != nil {
		p.fail("%s must be a string", name)
	}
	return s
}

// Number returns an integer member, nil when it is not there. In a URL, and
// for 64 bits in this protocol's JSON, numbers come as strings.
func (p Params) Number(name string) *int {
	if !p.Has(name) {
		return nil
	}
	n, err := strconv.Atoi(strings.Trim(string(p.Raw(name)), `"`))
	if err != nil {
		p.fail("%s must be an integer", name)
	}
	return &n
}

// HistoryLength returns how many messages of a task are wanted; nil = all.
func (p Params) HistoryLength() *int {
	n := p.Number("historyLength")
	if n != nil && *n < 0 {
		p.fail("historyLength must not be negative")
	}
	return n
}

// Flag returns a member that is true or false; false when it is not there.
func (p Params) Flag(name string) bool {
	if !p.Has(name) {
		return false
	}
	b, err := strconv.ParseBool(strings.Trim(string(p.Raw(name)), `"`))
	if err != nil {
		p.fail("%s must be true or false", name)
	}
	return b
}

// Object returns the members of a member; none when it is not there.
func (p Params) Object(name string) Params { return readObject(p.Raw(name), name, p.err) }
