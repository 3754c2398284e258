package web

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
)

// question is something that the agent wants to know before it goes on: a pause
// of the conversation, which is stored, or a form that it put to whoever is
// there.
type question struct {
	ID, Turn, Base string
	Ask            string // the id of a form; empty = a pause
	Text           string
	Fields         []formField
	Grant          bool   // it wants consent, not words
	URL, Host      string // where that is given
	Open           bool
	Answer         string // what was said
}

// formField is one value that is asked for.
type formField struct {
	Name, Label, Hint string
	Kind              string // text, number, check, choice or json
	Value             string
	Required          bool
	Options           []fieldOption
}

type fieldOption struct{ Value, Label string }

// anyWords is the form of a question that says nothing about its answer.
var anyWords = []formField{{Name: "message", Label: "Your answer", Kind: "text", Required: true}}

// pause adds a question that the ledger has. Those about tool calls are shown
// as what they are, from the desk.
func (u *turn) pause(m *beeos.Message) {
	var about struct {
		Approval json.RawMessage `json:"approval"`
		Schema   json.RawMessage `json:"requestedSchema"`
		URL      string          `json:"url"`
	}
	_ = json.Unmarshal(m.Payload, &about) // an agent need not say more than its words
	if about.Approval != nil {
		return
	}
	u.shut()
	q := &question{ID: m.ID, Turn: u.ID, Base: u.Base, Text: spoken(m.Body), Open: true, Grant: m.Type == beeos.AgentAuthRequired}
	if target, ok := outward([]byte(about.URL)); ok {
		q.URL, q.Host = target, hostOf(target)
	}
	if q.Fields = fieldsOf(about.Schema); q.Fields == nil && !q.Grant {
		q.Fields = anyWords
	}
	u.Asked = append(u.Asked, q)
}

// resume notes what was answered.
func (u *turn) resume(m *beeos.Message) {
	if decided(m.Payload) {
		return
	}
	for _, q := range u.Asked {
		if q.Open && q.Ask == "" {
			q.Open, q.Answer = false, answerText(m)
		}
	}
}

// decided reports whether a message is about a tool call.
func decided(payload json.RawMessage) bool {
	var about struct {
		Decision json.RawMessage `json:"decision"`
	}
	return json.Unmarshal(payload, &about) == nil && about.Decision != nil
}

func answerText(m *beeos.Message) string {
	if m.Body != "" {
		return spoken(m.Body)
	}
	var about struct {
		Content map[string]any `json:"content"`
	}
	if json.Unmarshal(m.Payload, &about) == nil && len(about.Content) > 0 {
		said, _ := json.Marshal(about.Content) // decoded a moment ago
		return spoken(string(said))
	}
	return "Go on."
}

func (u *turn) shut() {
	for _, q := range u.Asked {
		q.Open = false
	}
}

// ask adds a form that is put to whoever watches.
func (u *turn) ask(ev *beeos.Event) {
	known := slices.ContainsFunc(u.Asked, func(q *question) bool { return q.Ask == ev.AskID })
	if known || ev.Method != "elicitation/create" || strings.HasPrefix(ev.AskID, beeos.PauseAsk) || strings.HasPrefix(ev.AskID, beeos.ApprovalAsk) {
		return
	}
	var about struct {
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
	}
	_ = json.Unmarshal(ev.Data, &about) // checked when it came in
	q := &question{ID: ev.AskID, Turn: u.ID, Base: u.Base, Ask: ev.AskID, Text: spoken(about.Message), Open: true}
	if target, ok := outward([]byte(about.URL)); ok {
		q.URL, q.Host, q.Grant = target, hostOf(target), true
	}
	if q.Fields = fieldsOf(about.Schema); q.Fields == nil && !q.Grant {
		q.Fields = anyWords
	}
	u.Asked = append(u.Asked, q)
}

// asks takes the forms that are open now; the others were answered elsewhere.
func (u *turn) asks(open []beeos.Event) {
	for _, q := range u.Asked {
		if q.Ask != "" {
			q.Open = slices.ContainsFunc(open, func(ev beeos.Event) bool { return ev.AskID == q.Ask })
		}
	}
	for i := range open {
		u.ask(&open[i])
	}
}

// hostOf is where a link leads, as people are shown it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return clean(u.Host, 80)
}

// fieldsOf reads a schema of plain values, in its own order; nil for one that
// has none.
func fieldsOf(schema json.RawMessage) (list []formField) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	for dec.More() && len(list) < 32 {
		name, err := dec.Token()
		var p property
		if err != nil || dec.Decode(&p) != nil {
			return nil
		}
		key, _ := name.(string)
		list = append(list, p.field(key, slices.Contains(s.Required, key)))
	}
	return list
}

// property is one value of a schema.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
}

func (p *property) field(name string, required bool) formField {
	f := formField{Name: name, Label: clean(p.Title, 80), Hint: clean(p.Description, 200), Required: required}
	if f.Label == "" {
		f.Label = clean(name, 80)
	}
	if json.Unmarshal(p.Default, &f.Value) != nil {
		f.Value = string(p.Default)
	}
	for i, v := range p.Enum {
		o := fieldOption{v, clean(v, 120)}
		if i < len(p.EnumNames) {
			o.Label = clean(p.EnumNames[i], 120)
		}
		f.Options = append(f.Options, o)
	}
	for _, v := range p.OneOf {
		f.Options = append(f.Options, fieldOption{v.Const, clean(v.Title, 120)})
	}
	switch {
	case len(f.Options) > 0:
		f.Kind = "choice"
	case p.Type == "boolean":
		f.Kind = "check"
	case p.Type == "number" || p.Type == "integer":
		f.Kind = "number"
	case p.Type == "string" || p.Type == "":
		f.Kind = "text"
	default:
		f.Kind = "json"
	}
	return f
}

// fieldPrefix keeps the names of an agent's fields apart from ours.
const fieldPrefix = "f."

// content is what a form says, in the types that its schema has.
func content(fields []formField, form url.Values) (map[string]any, error) {
	all := map[string]any{}
	for _, f := range fields {
		text := strings.TrimSpace(strings.ReplaceAll(form.Get(fieldPrefix+f.Name), "\r\n", "\n"))
		if f.Kind == "check" {
			all[f.Name] = text == "on"
			continue
		}
		if text == "" {
			if f.Required {
				return nil, beeos.Errorf(beeos.InvalidParam, "%s is needed; fill it in", f.Label)
			}
			continue
		}
		switch f.Kind {
		case "number":
			if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
				return nil, beeos.Errorf(beeos.InvalidParam, "%s must be a number", f.Label)
			}
			all[f.Name] = json.Number(text)
		case "json":
			if !json.Valid([]byte(text)) {
				return nil, beeos.Errorf(beeos.InvalidParam, "%s must be JSON, such as [\"a\", \"b\"]", f.Label)
			}
			all[f.Name] = json.RawMessage(text)
		default:
			all[f.Name] = text
		}
	}
	return all, nil
}
