package wire

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Capability is something a client can be asked in the middle of a call.
type Capability uint8

const (
	CanElicitForm Capability = 1 << iota
	canElicitURL
	CanSample
	canListRoots
	CanTasks // not asked: it can come back for results
)

func (c Capability) Has(want Capability) bool { return want != 0 && c&want == want }

// Capabilities reads what a client declared at initialize.
func Capabilities(declared []byte) (can Capability) {
	for name, value := range httpd.Fields(declared) {
		switch name {
		case "elicitation":
			can |= elicitation(value)
		case "sampling":
			can |= CanSample
		case "roots":
			can |= canListRoots
		case "extensions":
			if httpd.Field(value, TasksExtension) != nil {
				can |= CanTasks
			}
		}
	}
	return can
}

// elicitation: before there were modes, declaring it meant forms.
func elicitation(value []byte) (can Capability) {
	if httpd.Field(value, "url") != nil {
		can |= canElicitURL
	}
	if httpd.Field(value, "form") != nil || can == 0 {
		can |= CanElicitForm
	}
	return can
}

// AgentNames are the words that agents know the capabilities by.
func (c Capability) AgentNames() []string {
	var list []string
	if c&(CanElicitForm|canElicitURL) != 0 {
		list = append(list, "elicitation")
	}
	if c.Has(canElicitURL) {
		list = append(list, "elicitation/url")
	}
	if c.Has(CanSample) {
		list = append(list, "sampling")
	}
	if c.Has(canListRoots) {
		list = append(list, "roots")
	}
	return list
}

// Declaration is how a client would say that it can.
func (c Capability) Declaration() string {
	switch c {
	case CanElicitForm:
		return `{"elicitation":{"form":{}}}`
	case canElicitURL:
		return `{"elicitation":{"url":{}}}`
	case CanSample:
		return `{"sampling":{}}`
	case canListRoots:
		return `{"roots":{}}`
	case CanTasks:
		return `{"extensions":{"` + TasksExtension + `":{}}}`
	}
	return `{}`
}

// NeededCapability is what a client must be capable of to be asked; 0 = no client is.
func NeededCapability(ev *beeos.Event) Capability {
	switch ev.Method {
	case "elicitation/create":
		if mode, _ := httpd.StringValue(httpd.Field(ev.Data, "mode")); mode == "url" {
			return canElicitURL
		}
		return CanElicitForm
	case "sampling/createMessage":
		return CanSample
	case "roots/list":
		return canListRoots
	}
	return 0
}
