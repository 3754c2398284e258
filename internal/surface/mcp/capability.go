package mcp

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// capability is something a client can be asked in the middle of a call.
type capability uint8

const (
	canElicitForm capability = 1 << iota
	canElicitURL
	canSample
	canListRoots
	canTasks // not asked: it can come back for results
)

func (c capability) has(want capability) bool { return want != 0 && c&want == want }

// capabilities reads what a client declared at initialize.
func capabilities(declared []byte) (can capability) {
	for name, value := range httpd.Fields(declared) {
		switch name {
		case "elicitation":
			can |= elicitation(value)
		case "sampling":
			can |= canSample
		case "roots":
			can |= canListRoots
		case "extensions":
			if httpd.Field(value, tasksExtension) != nil {
				can |= canTasks
			}
		}
	}
	return can
}

// elicitation: before there were modes, declaring it meant forms.
func elicitation(value []byte) (can capability) {
	if httpd.Field(value, "url") != nil {
		can |= canElicitURL
	}
	if httpd.Field(value, "form") != nil || can == 0 {
		can |= canElicitForm
	}
	return can
}

// agentNames are the words that agents know the capabilities by.
func (c capability) agentNames() []string {
	var list []string
	if c&(canElicitForm|canElicitURL) != 0 {
		list = append(list, "elicitation")
	}
	if c.has(canElicitURL) {
		list = append(list, "elicitation/url")
	}
	if c.has(canSample) {
		list = append(list, "sampling")
	}
	if c.has(canListRoots) {
		list = append(list, "roots")
	}
	return list
}

// declaration is how a client would say that it can.
func (c capability) declaration() string {
	switch c {
	case canElicitForm:
		return `{"elicitation":{"form":{}}}`
	case canElicitURL:
		return `{"elicitation":{"url":{}}}`
	case canSample:
		return `{"sampling":{}}`
	case canListRoots:
		return `{"roots":{}}`
	case canTasks:
		return `{"extensions":{"` + tasksExtension + `":{}}}`
	}
	return `{}`
}

// neededCapability is what a client must be capable of to be asked; 0 = no client is.
func neededCapability(ev *beeos.Event) capability {
	switch ev.Method {
	case "elicitation/create":
		if mode, _ := httpd.StringValue(httpd.Field(ev.Data, "mode")); mode == "url" {
			return canElicitURL
		}
		return canElicitForm
	case "sampling/createMessage":
		return canSample
	case "roots/list":
		return canListRoots
	}
	return 0
}
