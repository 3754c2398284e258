package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store"
)

// maxShown bounds what is shown of one result.
const maxShown = 8 << 10

// talkPart is a part of a message, of whichever type: those of the contract,
// and MCP's content blocks.
type talkPart struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Text      string          `json:"text"`
	URL       string          `json:"url"`
	URI       string          `json:"uri"`
	Title     string          `json:"title"`
	Kind      string          `json:"mime_type"`
	MIMEType  string          `json:"mimeType"`
	Data      json.RawMessage `json:"data"`
	Resource  struct {        // of type resource
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`

	TextOffset int `json:"text_offset"` // of ours, with tool_use
}

// block is a stretch of an answer: words, or a tool call between them.
type block struct {
	Text string
	Step *toolStep
}

// Blocks is the answer in the order in which it came about, as far as its
// agent says.
func (u *turn) Blocks() (list []block) {
	from := 0
	for _, s := range u.Steps {
		if to := s.at; to > from && (to == len(u.Text) || to < len(u.Text) && utf8.RuneStart(u.Text[to])) {
			list = append(list, block{Text: u.Text[from:to]})
			from = to
		}
		list = append(list, block{Step: s})
	}
	if from < len(u.Text) {
		list = append(list, block{Text: u.Text[from:]})
	}
	return list
}

// partsOf reads parts; those that are none of ours to read are left out.
func partsOf(raw json.RawMessage) (list []talkPart) {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, one := range all {
		var p talkPart
		if json.Unmarshal(one, &p) == nil && p.Type != "" {
			list = append(list, p)
		}
	}
	return list
}

// part adds a part to what the agent has said.
func (u *turn) part(p *talkPart) {
	switch p.Type {
	case "tool_use":
		u.Steps = append(u.Steps, &toolStep{ID: p.ID, full: p.Name, Name: toolTitle(p.Name), Arguments: shown(p.Arguments), raw: p.Arguments, at: p.TextOffset, HasArguments: len(p.Arguments) > 0})
	case "tool_result":
		for i := len(u.Steps) - 1; i >= 0; i-- { // ids may come again in another round
			if s := u.Steps[i]; s.ID == p.ToolUseID && !s.Done {
				s.Done, s.Failed, s.Result = true, p.IsError, resultText(p.Content)
				return
			}
		}
	case "thinking":
		u.Thoughts += p.Text
	case "file", "resource_link", "source":
		u.Files = append(u.Files, p.file(true))
	case "image", "audio":
		u.Files = append(u.Files, chatFile{Name: p.Type, Kind: clean(p.MIMEType, 60)})
	case "text":
		u.blocks += p.Text
	case "resource":
		u.Extras = append(u.Extras, extra{Name: clean(p.Resource.URI, 120), Text: pieces(shorten(beeos.Visible(p.Resource.Text)))})
	case "structured", "custom":
		u.Extras = append(u.Extras, extra{Name: p.Type, Text: shown(p.Data)})
	}
}

// file is the part as something to open. What the visitor sent has a link for
// the agent, not for people.
func (p *talkPart) file(link bool) chatFile {
	f := chatFile{Kind: clean(cmp.Or(p.Kind, p.MIMEType), 60)}
	address := cmp.Or(p.URL, p.URI)
	if target, ok := outward([]byte(address)); ok && link {
		f.URL = target
	}
	f.Name = clean(cmp.Or(p.Name, p.Title, address), 80)
	return f
}

// toolStep is one tool call of an answer.
type toolStep struct {
	ID, Name     string
	Arguments    []piece
	HasArguments bool
	Done, Failed bool
	Result       []piece
	Gate         *approvalRow // somebody was asked; while that is open its card stands for the step

	full string
	raw  json.RawMessage
	at   int // how much of the text came before it
}

// Says is how the step stands, in a word, and how good that is.
func (s *toolStep) Says() (words string) {
	switch {
	case s.Gate != nil && s.Gate.State == string(store.ApprovalRejected):
		return "rejected"
	case s.Failed:
		return "failed"
	case s.Done:
		return "done"
	}
	return "running"
}

// Mood is the colour of what Says says.
func (s *toolStep) Mood() string {
	switch s.Says() {
	case "done":
		return "good"
	case "running":
		return "busy"
	}
	return "bad"
}

// is reports whether an approval was asked for this call. Agents name tools
// with their skill in front.
func (s *toolStep) is(a *store.Approval) bool {
	name := a.Tool
	if a.Skill != "" {
		name = a.Skill + "__" + a.Tool
	}
	var mine, its bytes.Buffer
	return s.full == name && json.Compact(&mine, orEmpty(s.raw)) == nil && json.Compact(&its, orEmpty(a.Arguments)) == nil && bytes.Equal(mine.Bytes(), its.Bytes())
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// toolTitle is the name of a tool as people read it.
func toolTitle(full string) string {
	if skill, tool, ok := strings.Cut(full, "__"); ok {
		full = skill + " / " + tool
	}
	return clean(beeos.Visible(full), 120)
}

// shown lays JSON out, with nothing hidden in it.
func shown(raw json.RawMessage) []piece {
	if len(raw) == 0 {
		return nil
	}
	return pieces(shorten(approval.Shown(raw)))
}

// resultText is what a tool answered: words, or JSON.
func resultText(raw json.RawMessage) []piece {
	var words string
	if json.Unmarshal(raw, &words) == nil {
		return pieces(shorten(beeos.Visible(words)))
	}
	return shown(raw)
}

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
