package stream

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// changingLists are the lists whose changes clients may hear of.
var changingLists = []struct {
	member string // of a filter: the client wants to hear of it
	uri    string // what an agent calls it that says that it has changed
	method string // of the notification
	lists  func(*catalog.Lists) []catalog.List
}{
	{"toolsListChanged", "beeos://agent/tools", "notifications/tools/list_changed", func(l *catalog.Lists) []catalog.List {
		return []catalog.List{l.Tools}
	}},
	{"promptsListChanged", "beeos://agent/prompts", "notifications/prompts/list_changed", func(l *catalog.Lists) []catalog.List {
		return []catalog.List{l.Prompts}
	}},
	{"resourcesListChanged", "beeos://agent/resources", "notifications/resources/list_changed", func(l *catalog.Lists) []catalog.List {
		return []catalog.List{l.Resources, l.Templates}
	}},
}

// Filter is which changes a stream wants to hear of.
type Filter struct {
	lists map[string]bool // by the method of their notification
	URIs  map[string]bool
}

// AllLists wants to hear of every list, and of no resource.
func AllLists() Filter {
	f := Filter{lists: map[string]bool{}}
	for _, c := range changingLists {
		f.lists[c.method] = true
	}
	return f
}

// ReadFilter reads what a client wants to hear of.
func ReadFilter(raw []byte) (f Filter, tasks []string, err error) {
	if wire.Kind(raw) != '{' {
		return f, nil, beeos.Errorf(beeos.InvalidParam, "params.notifications must be an object: what to listen to")
	}
	f = Filter{lists: map[string]bool{}, URIs: map[string]bool{}}
	for _, c := range changingLists {
		f.lists[c.method] = wire.Kind(strictjson.Field(raw, c.member)) == 't'
	}
	for uri := range texts(strictjson.Field(raw, "resourceSubscriptions")) {
		f.URIs[uri] = true
	}
	return f, slices.Collect(texts(strictjson.Field(raw, "taskIds"))), nil
}

// texts ranges over the elements of an array that are strings.
func texts(array []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for v := range strictjson.Elements(array) {
			if s, ok := strictjson.StringValue(v); ok && !yield(s) {
				return
			}
		}
	}
}

// Acknowledged tells a client what it will hear of: what it asked for, as far
// as we know it.
func Acknowledged(wanted []byte, wants Filter, tasks map[string][]byte) []byte {
	var members []string
	for _, c := range changingLists {
		if wants.lists[c.method] {
			members = append(members, `"`+c.member+`":true`)
		}
	}
	if len(wants.URIs) > 0 {
		members = append(members, `"resourceSubscriptions":`+string(strictjson.Field(wanted, "resourceSubscriptions")))
	}
	if len(tasks) > 0 {
		ids, _ := beeos.EncodeJSON(slices.Collect(maps.Keys(tasks))) // strings can always be encoded
		members = append(members, `"taskIds":`+string(ids))
	}
	return []byte(`"notifications":{` + strings.Join(members, ",") + `}`)
}
