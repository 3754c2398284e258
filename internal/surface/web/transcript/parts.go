package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// maxResultBytes bounds what is shown of one result.
const maxResultBytes = 8 << 10

// part is a part of a message, of any type: those of the contract, and MCP's
// content blocks.
type part struct {
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

// payload is what a message or a form may say beside its words.
type payload struct {
	Approval json.RawMessage `json:"approval"` // it asks about a tool call
	Decision json.RawMessage `json:"decision"` // it answers for one
	Message  string          `json:"message"`
	Schema   json.RawMessage `json:"requestedSchema"`
	URL      string          `json:"url"`
	Content  map[string]any  `json:"content"` // of an answer
	Partial  string          `json:"partial"` // how far an answer came that failed
}

// readPayload reads what it understands of a payload: nobody has to say more
// than words.
func readPayload(raw json.RawMessage) (p payload) {
	_ = json.Unmarshal(raw, &p) // what does not fit is left out
	return p
}

// File is a file that goes along with words.
type File struct{ Name, Kind, URL string }

// Extra is other content of an answer, as JSON.
type Extra struct {
	Name string
	Text []safetext.Piece
}

// Block is a stretch of an answer: words, or a tool call between them.
type Block struct {
	Text string
	Call *ToolCall
}

// Blocks is the answer in the order in which it came about, as far as its
// agent says.
func (u *Turn) Blocks() (list []Block) {
	from := 0
	for _, c := range u.ToolCalls {
		if to := c.textOffset; to > from && (to == len(u.Text) || to < len(u.Text) && utf8.RuneStart(u.Text[to])) {
			list = append(list, Block{Text: u.Text[from:to]})
			from = to
		}
		list = append(list, Block{Call: c})
	}
	if from < len(u.Text) {
		list = append(list, Block{Text: u.Text[from:]})
	}
	return list
}

// readParts reads the parts of a message and leaves out those it does not
// understand.
func readParts(raw json.RawMessage) (list []part) {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, one := range all {
		var p part
		if json.Unmarshal(one, &p) == nil && p.Type != "" {
			list = append(list, p)
		}
	}
	return list
}

// addParts adds parts to what the agent has said.
func (u *Turn) addParts(raw json.RawMessage) {
	for _, p := range readParts(raw) {
		u.addPart(&p)
	}
}

// dropParts forgets the parts of an answer.
func (u *Turn) dropParts() {
	u.ToolCalls, u.Files, u.Extras, u.blocks = nil, nil, nil, ""
}

func (u *Turn) addPart(p *part) {
	switch p.Type {
	case "tool_use":
		u.ToolCalls = append(u.ToolCalls, &ToolCall{
			ID: p.ID, Name: toolTitle(p.Name), Arguments: showJSON(p.Arguments), HasArguments: len(p.Arguments) > 0,
			fullName: p.Name, rawArguments: p.Arguments, textOffset: p.TextOffset,
		})
	case "tool_result":
		for _, c := range slices.Backward(u.ToolCalls) { // ids may come again in another round
			if c.ID == p.ToolUseID && !c.Done {
				c.Done, c.Failed, c.Result = true, p.IsError, showResult(p.Content)
				return
			}
		}
	case "thinking":
		u.Reasoning += p.Text
	case "file", "resource_link", "source":
		u.Files = append(u.Files, p.file(true))
	case "image", "audio":
		u.Files = append(u.Files, File{Name: p.Type, Kind: safetext.Line(p.MIMEType, 60)})
	case "text":
		u.blocks += p.Text
	case "resource":
		u.Extras = append(u.Extras, Extra{Name: safetext.Line(p.Resource.URI, 120), Text: safetext.Pieces(beeos.Shorten(beeos.Visible(p.Resource.Text), maxResultBytes))})
	case "structured", "custom":
		u.Extras = append(u.Extras, Extra{Name: p.Type, Text: showJSON(p.Data)})
	}
}

// file shows the part as something to open. A file that the visitor sent has a
// link for the agent, not for people.
func (p *part) file(link bool) File {
	f := File{Kind: safetext.Line(cmp.Or(p.Kind, p.MIMEType), 60)}
	address := cmp.Or(p.URL, p.URI)
	if target, ok := safetext.LinkTarget(address); ok && link {
		f.URL = target
	}
	f.Name = safetext.Line(cmp.Or(p.Name, p.Title, address), 80)
	return f
}

// ToolCall is one tool call of an answer.
type ToolCall struct {
	ID, Name     string
	Arguments    []safetext.Piece
	HasArguments bool
	Done, Failed bool
	Result       []safetext.Piece
	Approval     *page.ApprovalCard // somebody was asked; while that is open, its card stands for the call

	fullName     string
	rawArguments json.RawMessage
	textOffset   int // how much of the text came before it
}

// Status says in a word how the call stands.
func (c *ToolCall) Status() string {
	switch {
	case c.Approval != nil && c.Approval.State == string(approvals.Rejected):
		return "rejected"
	case c.Failed:
		return "failed"
	case c.Done:
		return "done"
	}
	return "running"
}

// Mood is the colour of the status.
func (c *ToolCall) Mood() string {
	switch c.Status() {
	case "done":
		return "good"
	case "running":
		return "busy"
	}
	return "bad"
}

// matches reports whether an approval was asked for this call. Agents put the
// skill in front of a tool's name.
func (c *ToolCall) matches(a *approvals.Approval) bool {
	name := a.Tool
	if a.Skill != "" {
		name = a.Skill + "__" + a.Tool
	}
	var own, asked bytes.Buffer
	return c.fullName == name && json.Compact(&own, orEmpty(c.rawArguments)) == nil && json.Compact(&asked, orEmpty(a.Arguments)) == nil && bytes.Equal(own.Bytes(), asked.Bytes())
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
	return safetext.Line(beeos.Visible(full), 120)
}

// showJSON lays out JSON, with nothing hidden in it.
func showJSON(raw json.RawMessage) []safetext.Piece {
	if len(raw) == 0 {
		return nil
	}
	return safetext.Pieces(beeos.Shorten(approval.FormatArguments(raw), maxResultBytes))
}

// showResult lays out what a tool answered: words, or JSON.
func showResult(raw json.RawMessage) []safetext.Piece {
	var words string
	if json.Unmarshal(raw, &words) == nil {
		return safetext.Pieces(beeos.Shorten(beeos.Visible(words), maxResultBytes))
	}
	return showJSON(raw)
}
