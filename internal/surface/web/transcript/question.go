package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// Question is something that the agent wants to know before it goes on: a pause
// of the conversation, which is stored, or a form that it put to whoever is
// there.
type Question struct {
	ID, Turn, Path string
	FormID         string // of a form; empty = a pause
	Text           string
	Fields         []Field
	Grant          bool   // it wants consent, not words
	URL, Host      string // where consent is given
	Open           bool
	Answer         string
}

// Field is one value that is asked for.
type Field struct {
	Name, Label, Hint string
	Kind              string // text, number, check, choice or json
	Value             string
	Required          bool
	Options           []Option
}

// Option is a value to choose, and how it is called.
type Option struct{ Value, Label string }

// freeText is the form of a question that says nothing about its answer.
var freeText = []Field{{Name: "message", Label: "Your answer", Kind: "text", Required: true}}

// addPause adds a question that the ledger has. Those about tool calls are left
// out: the approval desk has them, and they are shown as approvals.
func (u *Turn) addPause(m *beeos.Message) {
	about := readPayload(m.Payload)
	if about.Approval != nil {
		return
	}
	u.closeQuestions()
	u.addQuestion(&Question{ID: m.ID, Text: safetext.Reveal(m.Body), Grant: m.Type == beeos.AgentAuthRequired}, about.URL, about.Schema)
}

// addQuestion completes an open question and adds it.
func (u *Turn) addQuestion(q *Question, address string, schema json.RawMessage) {
	q.Turn, q.Path, q.Open = u.ID, u.Path, true
	if target, ok := safetext.LinkTarget(address); ok {
		q.URL, q.Host = target, safetext.LinkHost(target)
		q.Grant = q.Grant || q.FormID != ""
	}
	if q.Fields = readFields(schema); q.Fields == nil && !q.Grant {
		q.Fields = freeText
	}
	u.Questions = append(u.Questions, q)
}

// answerPause notes what was answered.
func (u *Turn) answerPause(m *beeos.Message) {
	if readPayload(m.Payload).Decision != nil {
		return // it is for a tool call
	}
	for _, q := range u.Questions {
		if q.Open && q.FormID == "" {
			q.Open, q.Answer = false, answerText(m)
		}
	}
}

func answerText(m *beeos.Message) string {
	if m.Body != "" {
		return safetext.Reveal(m.Body)
	}
	if content := readPayload(m.Payload).Content; len(content) > 0 {
		said, _ := json.Marshal(content) // decoded a moment ago
		return safetext.Reveal(string(said))
	}
	return "Go on."
}

func (u *Turn) closeQuestions() {
	for _, q := range u.Questions {
		q.Open = false
	}
}

// addForm adds a form that the agent puts to whoever watches.
func (u *Turn) addForm(ev *beeos.Event) {
	known := slices.ContainsFunc(u.Questions, func(q *Question) bool { return q.FormID == ev.AskID })
	if known || ev.Method != "elicitation/create" || strings.HasPrefix(ev.AskID, beeos.PauseAsk) || strings.HasPrefix(ev.AskID, beeos.ApprovalAsk) {
		return
	}
	about := readPayload(ev.Data)
	u.addQuestion(&Question{ID: ev.AskID, FormID: ev.AskID, Text: safetext.Reveal(about.Message)}, about.URL, about.Schema)
}

// setOpenForms takes the forms that are open now; the others were answered
// elsewhere.
func (u *Turn) setOpenForms(open []beeos.Event) {
	for _, q := range u.Questions {
		if q.FormID != "" {
			q.Open = slices.ContainsFunc(open, func(ev beeos.Event) bool { return ev.AskID == q.FormID })
		}
	}
	for i := range open {
		u.addForm(&open[i])
	}
}

// readFields reads a schema of plain values, in its own order; nil if it has
// none.
func readFields(schema json.RawMessage) (list []Field) {
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

func (p *property) field(name string, required bool) Field {
	f := Field{Name: name, Label: cmp.Or(safetext.Line(p.Title, 80), safetext.Line(name, 80)), Hint: safetext.Line(p.Description, 200), Required: required}
	if json.Unmarshal(p.Default, &f.Value) != nil {
		f.Value = string(p.Default)
	}
	for i, v := range p.Enum {
		o := Option{v, safetext.Line(v, 120)}
		if i < len(p.EnumNames) {
			o.Label = safetext.Line(p.EnumNames[i], 120)
		}
		f.Options = append(f.Options, o)
	}
	for _, v := range p.OneOf {
		f.Options = append(f.Options, Option{v.Const, safetext.Line(v.Title, 120)})
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

// ReadAnswer returns what the form of a question says, in the types of its
// schema.
func (q *Question) ReadAnswer(form url.Values) (map[string]any, error) {
	all := map[string]any{}
	for _, f := range q.Fields {
		text := strings.TrimSpace(strings.ReplaceAll(form.Get(fieldPrefix+f.Name), "\r\n", "\n"))
		if f.Kind == "check" {
			all[f.Name] = text == "on"
			continue
		}
		if text == "" {
			if f.Required {
				return nil, beeos.Errorf(beeos.InvalidParam, "%s is required; fill it in", f.Label)
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
