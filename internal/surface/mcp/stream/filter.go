package stream

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// ReadFilter reads what a client wants to hear of.
func ReadFilter(raw []byte) (f Filter, tasks []string, err error) {
	if wire.Kind(raw) != '{' {
		return f, nil, beeos.Errorf(beeos.InvalidParam, "params.notifications must be an object: what to listen to")
	}
	f.URIs = map[string]bool{}
	for name, value := range strictjson.Fields(raw) {
		on := wire.Kind(value) == 't'
		switch name {
		case "toolsListChanged":
			f.Tools = on
		case "promptsListChanged":
			f.Prompts = on
		case "resourcesListChanged":
			f.Resources = on
		case "resourceSubscriptions":
			for v := range strictjson.Elements(value) {
				if uri, ok := strictjson.StringValue(v); ok {
					f.URIs[uri] = true
				}
			}
		case "taskIds":
			for v := range strictjson.Elements(value) {
				if id, ok := strictjson.StringValue(v); ok {
					tasks = append(tasks, id)
				}
			}
		}
	}
	return f, tasks, nil
}

// Acknowledged tells a client what it will hear of: what it asked for, as far
// as we know it.
func Acknowledged(wanted []byte, wants Filter, tasks map[string][]byte) []byte {
	b := []byte(`"notifications":{`)
	add := func(name string, value []byte) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(b, `"`+name+`":`...), value...)
	}
	for _, o := range []struct {
		on   bool
		name string
	}{{wants.Tools, "toolsListChanged"}, {wants.Prompts, "promptsListChanged"}, {wants.Resources, "resourcesListChanged"}} {
		if o.on {
			add(o.name, []byte("true"))
		}
	}
	if len(wants.URIs) > 0 {
		add("resourceSubscriptions", strictjson.Field(wanted, "resourceSubscriptions"))
	}
	if len(tasks) > 0 {
		ids := []byte{'['}
		for id := range tasks {
			ids = append(wire.AppendText(ids, id), ',')
		}
		add("taskIds", append(ids[:len(ids)-1], ']'))
	}
	return append(b, '}')
}

// Filter is which changes a stream wants to hear of.
type Filter struct {
	Tools, Prompts, Resources bool
	URIs                      map[string]bool
}
