package catalog

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// A model that is shown hundreds of tools chooses badly and pays for reading
// them all. A union of many therefore lists two: one finds tools, the other
// calls what was found. Whoever knows a tool's name can still call it.

const (
	listedMax      = 100 // tools that a union lists one by one
	searchLimit    = 10
	searchMost     = 50
	searchToolName = "search_tools"
	CallToolName   = "call_tool"
	searchSchema   = `{"type":"object","properties":{"query":{"type":"string","description":"Words that say what the tool should do; empty for any"},"limit":{"type":"integer","minimum":1,"maximum":50}},"required":["query"]}`
	callSchema     = `{"type":"object","properties":{"name":{"type":"string","description":"The name of a tool, as search_tools gives it"},"arguments":{"type":"object","description":"What the tool's inputSchema asks for"}},"required":["name"]}`
)

// searchItems is the list of a union that has too many tools to be listed.
func searchItems(l *Lists) [][]byte {
	count := strconv.Itoa(len(l.toolNames))
	return [][]byte{
		l.addMetaTool(searchToolName, "Find tools of your agents, of which there are "+count+", by what they do. Returns their names, descriptions and input schemas.", searchSchema),
		l.addMetaTool(CallToolName, "Call a tool that "+searchToolName+" has found.", callSchema),
	}
}

// addMetaTool makes a tool that finds or calls others, and returns its definition.
func (l *Lists) addMetaTool(name, description, input string) []byte {
	t := newTool(beeos.Skill{Name: name, Description: description, InputSchema: json.RawMessage(input)})
	t.IsMeta = true
	l.ToolByName[name] = t
	return t.definition
}

// SearchTools answers a call of search_tools.
func (l *Lists) SearchTools(given []byte) ([]byte, error) {
	query, ok := strictjson.StringField(given, "query")
	if !ok {
		return nil, beeos.Errorf(beeos.InvalidParam, "query must be a string: words that say what the tool should do")
	}
	limit := searchLimit
	if n, err := strconv.Atoi(string(strictjson.Field(given, "limit"))); err == nil {
		limit = min(max(n, 1), searchMost)
	}
	found := newList("tools", l.findTools(query, limit)).pages[0]
	result := wire.AppendTextBlock([]byte(`{"content":[`), string(found))
	return append(append(append(result, `],"structuredContent":`...), found...), '}'), nil
}

// findTools returns the definitions of the tools that have most of the words,
// in the name or in what is said about them.
func (l *Lists) findTools(query string, limit int) (found [][]byte) {
	type hit struct {
		definition []byte
		score      int
	}
	words := strings.Fields(strings.ToLower(query))
	var hits []hit
	for _, name := range l.toolNames {
		t := l.ToolByName[name]
		said, _ := strictjson.StringField(t.definition, "description")
		said, name = strings.ToLower(said), strings.ToLower(name)
		score := 0
		for _, w := range words {
			switch {
			case strings.Contains(name, w):
				score += 3
			case strings.Contains(said, w):
				score++
			}
		}
		if score > 0 || len(words) == 0 {
			hits = append(hits, hit{t.definition, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	for _, h := range hits[:min(limit, len(hits))] {
		found = append(found, h.definition)
	}
	return found
}
