package mcp

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// readFilter reads what a client wants to hear of.
func readFilter(raw []byte) (f filter, tasks []string, err error) {
	if kind(raw) != '{' {
		return f, nil, beeos.Errorf(beeos.InvalidParam, "params.notifications must be an object: what to listen to")
	}
	f.uris = map[string]bool{}
	for name, value := range httpd.Fields(raw) {
		on := kind(value) == 't'
		switch name {
		case "toolsListChanged":
			f.tools = on
		case "promptsListChanged":
			f.prompts = on
		case "resourcesListChanged":
			f.resources = on
		case "resourceSubscriptions":
			for v := range httpd.Elements(value) {
				if uri, ok := httpd.StringValue(v); ok {
					f.uris[uri] = true
				}
			}
		case "taskIds":
			for v := range httpd.Elements(value) {
				if id, ok := httpd.StringValue(v); ok {
					tasks = append(tasks, id)
				}
			}
		}
	}
	return f, tasks, nil
}

// acknowledged tells a client what it will hear of: what it asked for, as far
// as we know it.
func acknowledged(wanted []byte, wants filter, tasks map[string][]byte) []byte {
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
	}{{wants.tools, "toolsListChanged"}, {wants.prompts, "promptsListChanged"}, {wants.resources, "resourcesListChanged"}} {
		if o.on {
			add(o.name, []byte("true"))
		}
	}
	if len(wants.uris) > 0 {
		add("resourceSubscriptions", httpd.Field(wanted, "resourceSubscriptions"))
	}
	if len(tasks) > 0 {
		ids := []byte{'['}
		for id := range tasks {
			ids = append(appendText(ids, id), ',')
		}
		add("taskIds", append(ids[:len(ids)-1], ']'))
	}
	return append(b, '}')
}

// filter is which changes a stream wants to hear of.
type filter struct {
	tools, prompts, resources bool
	uris                      map[string]bool
}
