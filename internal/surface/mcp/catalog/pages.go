package catalog

import (
	"encoding/base64"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// pageSize is large because some clients never ask for a second page.
const pageSize = 250

// Pages are complete results of one list method.
type Pages [][]byte

// newPages splits items over results of the form {"<name>":[...]}.
func newPages(name string, items [][]byte) Pages {
	var all Pages
	for {
		n := min(len(items), pageSize)
		b := append([]byte(`{"`), name...)
		b = append(b, `":[`...)
		for i, item := range items[:n] {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, item...)
		}
		b = append(b, ']')
		items = items[n:]
		if len(items) > 0 {
			b = append(b, `,"nextCursor":`...)
			b = wire.AppendText(b, cursor(name, len(all)+1))
		}
		all = append(all, append(b, '}'))
		if len(items) == 0 {
			return all
		}
	}
}

func cursor(name string, page int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(name + ":" + strconv.Itoa(page)))
}

// Page returns the result for a request's params.
func (p Pages) Page(name string, params []byte) ([]byte, error) {
	raw := strictjson.Field(params, "cursor")
	if raw == nil || wire.Kind(raw) == 'n' {
		return p[0], nil
	}
	if given, ok := strictjson.StringValue(raw); ok {
		for i := 1; i < len(p); i++ {
			if cursor(name, i) == given {
				return p[i], nil
			}
		}
	}
	return nil, beeos.Errorf(beeos.InvalidParam, "unknown cursor: start again without one")
}
