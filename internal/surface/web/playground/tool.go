package playground

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// toolData is the page on which a tool is tried.
type toolData struct {
	Row       page.AgentRow
	Tool      toolRow
	Fields    []field
	JSON      bool // the arguments are written as JSON
	NoForm    bool // they cannot be asked for field by field
	Arguments string
	Key       string // keeps a call from being made twice
	Run       *runData
}

// showTool is the page of a tool: with what was filled in, after a form that could
// not be taken; with what it was last called with, after a run; else empty.
func (p *Playground) showTool(r *page.Request, t tool) (page.Answer, error) {
	row, err := p.DescribeAgent(r.Context(), t.agent)
	if err != nil {
		return nil, err
	}
	fields, ok := fieldsOf(t.skill.InputSchema)
	d := toolData{Row: row, Tool: describeTool(t.agent, t.skill), Fields: fields, NoForm: !ok, Arguments: "{}", Key: beeos.NewID()}
	d.JSON = d.NoForm || r.URL.Query().Get("as") == "json" || r.PostForm.Has("arguments")
	view := page.View{Page: "tool", Title: d.Tool.Label() + " of " + row.Title, Room: "agents", Live: "/agents/" + t.agent.ID + "/status/live", Here: t.path()}
	run, given, err := p.findRun(r, t)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Method == http.MethodPost:
		d.Arguments = r.PostFormValue("arguments")
		_, _ = readArguments(d.Fields, r.PostForm) // for what it leaves in the fields; the problem has been said
	case run != nil:
		given = withoutSecrets(fields, given)
		fillFields(d.Fields, given)
		d.Arguments = indent(given)
	}
	if d.Run = run; run != nil && run.Working {
		view.Live = t.path() + "/live?run=" + run.ID
	}
	view.Data = d
	return view, nil
}

func indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return "{}"
	}
	return b.String()
}
