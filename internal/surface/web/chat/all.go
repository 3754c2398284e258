package chat

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// allData is the visitor's conversations with all agents.
type allData struct {
	Query         string
	Rows          []talkRow
	Older, Newest string // addresses of other pages; empty = there is none
}

// talkRow is a conversation with somebody.
type talkRow struct {
	ID, Title, Agent, Path string
	At                     time.Time
	Closed                 bool
}

const maxQuery = 200 // bytes of what is searched for

// showAll lists conversations with all agents, those that began last first. A
// search looks at their titles and at the names of the agents.
func (c *Chat) showAll(r *page.Request) (page.Answer, error) {
	d := allData{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	d.Query = strings.ToValidUTF8(d.Query[:min(len(d.Query), maxQuery)], "")
	owner, before := r.Caller().Principal(), r.URL.Query().Get("before")
	names, err := c.nameAgents(r, owner)
	if err != nil {
		return nil, err
	}
	f := ledger.ConversationFilter{Owner: owner, Words: d.Query, Before: before, Limit: conversationsPerPage + 1}
	for id, name := range names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(d.Query)) && d.Query != "" {
			f.Agents = append(f.Agents, id)
		}
	}
	found, err := c.Ledger.Conversations(r.Context(), f)
	if err != nil {
		return nil, err
	}
	if len(found) > conversationsPerPage {
		found = found[:conversationsPerPage]
		d.Older = "/conversations?" + url.Values{"q": {d.Query}, "before": {found[conversationsPerPage-1].ID}}.Encode()
	}
	if before != "" {
		d.Newest = "/conversations?" + url.Values{"q": {d.Query}}.Encode()
	}
	for i := range found {
		ch := &found[i]
		row := newConversationRow(ch)
		d.Rows = append(d.Rows, talkRow{
			ID: row.ID, Title: row.Title, At: row.At, Closed: row.Closed, Path: "/agents/" + ch.AgentID + "/chat/" + ch.ID,
			Agent: cmp.Or(names[ch.AgentID], safetext.Line(ch.AgentID, 60)),
		})
	}
	return page.View{Page: "conversations", Title: "Conversations", Room: "conversations", Data: d}, nil
}

// maxNamed bounds the agents that are looked up for one page.
const maxNamed = 500

// nameAgents returns what the agents are called that somebody has conversations
// with. Those that are deleted, or out of reach now, have no name.
func (c *Chat) nameAgents(r *page.Request, owner string) (map[string]string, error) {
	ids, err := c.Ledger.ConversationAgents(r.Context(), owner)
	names := map[string]string{}
	for _, id := range ids[:min(len(ids), maxNamed)] {
		if a, err := c.Agents.Get(r.Context(), id); err == nil && r.Caller().MayReach(a) {
			names[id] = page.AgentTitle(a)
		}
	}
	return names, err
}
