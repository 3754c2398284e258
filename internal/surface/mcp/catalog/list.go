package catalog

import (
	"bytes"
	"encoding/base64"
	"iter"
	"slices"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// pageSize is large because some clients never ask for a second page.
const pageSize = 250

// List is what one list method answers with.
type List struct {
	name  string   // of the member that holds the elements
	pages [][]byte // complete results
}

// newList splits items over results of the form {"<name>":[...]}.
func newList(name string, items [][]byte) List {
	l := List{name: name}
	for {
		n := min(len(items), pageSize)
		b := append([]byte(`{"`+name+`":[`), bytes.Join(items[:n], []byte{','})...)
		b = append(b, ']')
		if items = items[n:]; len(items) > 0 {
			b = wire.AppendMember(b, "nextCursor", l.cursor(len(l.pages)+1))
		}
		l.pages = append(l.pages, append(b, '}'))
		if len(items) == 0 {
			return l
		}
	}
}

func (l List) cursor(page int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.name + ":" + strconv.Itoa(page)))
}

// Page returns the result for a request's params.
func (l List) Page(params []byte) ([]byte, error) {
	raw := strictjson.Field(params, "cursor")
	if raw == nil || wire.Kind(raw) == 'n' {
		return l.pages[0], nil
	}
	if given, ok := strictjson.StringValue(raw); ok {
		for i := 1; i < len(l.pages); i++ {
			if l.cursor(i) == given {
				return l.pages[i], nil
			}
		}
	}
	return nil, beeos.Errorf(beeos.InvalidParam, "unknown cursor: start again without one")
}

// items ranges over the elements of all pages.
func (l List) items() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, page := range l.pages {
			for item := range strictjson.Elements(strictjson.Field(page, l.name)) {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// Equal reports whether clients would read the same in both.
func (l List) Equal(other List) bool { return slices.EqualFunc(l.pages, other.pages, bytes.Equal) }
