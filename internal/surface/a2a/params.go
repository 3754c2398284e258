package a2a

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// params are the members of an object by their name in camelCase; the
// protocol's JSON rules let clients write snake_case as well. The bytes have
// passed httpd.Strict.
type params map[string][]byte

// readParams takes an object apart. Two spellings of one name are refused:
// whoever checks and whoever acts might each take another.
func readParams(raw []byte) (params, error) {
	p := params{}
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return p, nil
	}
	if raw[0] != '{' {
		return nil, beeos.Errorf(beeos.InvalidParam, "params must be an object")
	}
	for name, value := range httpd.Fields(raw) {
		name = camel(name)
		if _, twice := p[name]; twice {
			return nil, beeos.Errorf(beeos.InvalidParam, "%s is given twice, in two spellings", name)
		}
		p[name] = value
	}
	return p, nil
}

// camel turns snake_case into camelCase.
func camel(name string) string {
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

// addQuery adds the parameters of a URL, as strings.
func (p params) addQuery(q url.Values) {
	for name, values := range q {
		if name != "A2A-Version" && len(values) > 0 {
			p.set(camel(name), values[0])
		}
	}
}

func (p params) set(name, value string) {
	raw, _ := json.Marshal(value) //nolint:errcheck // a string
	p[name] = raw
}

func (p params) has(name string) bool {
	raw, ok := p[name]
	return ok && !bytes.Equal(raw, []byte("null"))
}

// text returns a string member, or "".
func (p params) text(name string) (string, error) {
	if !p.has(name) {
		return "", nil
	}
	s, ok := httpd.StringValue(p[name])
	if !ok {
		return "", beeos.Errorf(beeos.InvalidParam, "%s must be a string", name)
	}
	return s, nil
}

// texts reads several strings at once, for one look at the error.
func (p params) texts(to map[string]*string) (err error) {
	for name, value := range to {
		if *value, err = p.text(name); err != nil {
			return err
		}
	}
	return nil
}

// number returns an integer member, nil when it is not there. In a URL, and
// for 64 bits in this protocol's JSON, numbers come as strings.
func (p params) number(name string) (*int, error) {
	if !p.has(name) {
		return nil, nil
	}
	n, err := strconv.Atoi(strings.Trim(string(p[name]), `"`))
	if err != nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "%s must be an integer", name)
	}
	return &n, nil
}

func (p params) flag(name string) (bool, error) {
	if !p.has(name) {
		return false, nil
	}
	b, err := strconv.ParseBool(strings.Trim(string(p[name]), `"`))
	if err != nil {
		return false, beeos.Errorf(beeos.InvalidParam, "%s must be true or false", name)
	}
	return b, nil
}

// object returns the members of a member; none when it is not there.
func (p params) object(name string) (params, error) {
	if !p.has(name) {
		return params{}, nil
	}
	if p[name][0] != '{' {
		return nil, beeos.Errorf(beeos.InvalidParam, "%s must be an object", name)
	}
	return readParams(p[name])
}
