package wire

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Capability is something a client can be asked in the middle of a call.
type Capability uint8

const (
	CanElicitForm Capability = 1 << iota
	CanElicitURL
	CanSample
	CanListRoots
	CanTasks  // not asked: it can come back for results
	CanShowUI // not asked: it shows the pages of tools
)

func (c Capability) Has(want Capability) bool { return want != 0 && c&want == want }

// ReadCapabilities reads what a client declared at initialize.
func ReadCapabilities(declared []byte) (can Capability) {
	for name, value := range strictjson.Fields(declared) {
		switch name {
		case "elicitation":
			can |= readElicitation(value)
		case "sampling":
			can |= CanSample
		case "roots":
			can |= CanListRoots
		case "extensions":
			if strictjson.Field(value, TasksExtension) != nil {
				can |= CanTasks
			}
			if strictjson.Field(value, UIExtension) != nil {
				can |= CanShowUI
			}
		}
	}
	return can
}

// readElicitation: before there were modes, declaring it meant forms.
func readElicitation(value []byte) (can Capability) {
	if strictjson.Field(value, "url") != nil {
		can |= CanElicitURL
	}
	if strictjson.Field(value, "form") != nil || can == 0 {
		can |= CanElicitForm
	}
	return can
}

// AgentNames are the words that agents know the capabilities by.
func (c Capability) AgentNames() (list []string) {
	for _, known := range []struct {
		by   Capability // any of them
		name string
	}{{CanElicitForm | CanElicitURL, "elicitation"}, {CanElicitURL, "elicitation/url"}, {CanSample, "sampling"}, {CanListRoots, "roots"}, {CanShowUI, "ui"}} {
		if c&known.by != 0 {
			list = append(list, known.name)
		}
	}
	return list
}

// declarations are how a client would say that it can.
var declarations = map[Capability]string{
	CanElicitForm: `{"elicitation":{"form":{}}}`,
	CanElicitURL:  `{"elicitation":{"url":{}}}`,
	CanSample:     `{"sampling":{}}`,
	CanListRoots:  `{"roots":{}}`,
	CanTasks:      `{"extensions":{"` + TasksExtension + `":{}}}`,
}

// NeededCapability is what a client must be capable of to be asked; 0 = no
// client is.
func NeededCapability(ev *beeos.Event) Capability {
	switch ev.Method {
	case "elicitation/create":
		if mode, _ := strictjson.StringField(ev.Data, "mode"); mode == "url" {
			return CanElicitURL
		}
		return CanElicitForm
	case "sampling/createMessage":
		return CanSample
	case "roots/list":
		return CanListRoots
	}
	return 0
}
