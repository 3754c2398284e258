package chat

import (
	"cmp"
	"html/template"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/surface/web/transcript"
)

const (
	conversationsPerPage = 50
	minMessages          = 100 // shown at first; each request for earlier ones doubles it
	maxMessages          = 3200
	maxPageBytes         = 16 << 20 // of all the messages that are shown
)

// pageData is the page on which a person talks with an agent.
type pageData struct {
	Row           page.AgentRow
	Owner         bool   // the agent's other pages are the visitor's, too
	Path          string // where the visitor's conversations with this agent are
	Conversations []conversationRow
	Older         string           // address of more of them
	Here          *conversationRow // nil = one that has not begun
	Transcript    template.HTML
	Empty         bool
	Earlier       string // address of the page with more messages
	Full          bool   // there is no room for more
	Open          bool   // the agent works
	Files         bool   // they can be attached
	Message       string // what was written and not sent
	Key           string // keeps a message from being sent twice
}

// conversationRow is a conversation in the list.
type conversationRow struct {
	ID, Title string
	Lit       bool
	At        time.Time
	Closed    bool
}

// show is the page of a conversation. After a form that could not be taken, it
// has the message that was written and could not be sent.
func (c *Chat) show(r *page.Request, here conversation) (page.Answer, error) {
	d, err := c.loadPage(r, here, r.URL.Query().Get("before"))
	if err != nil {
		return nil, err
	}
	d.Message, d.Key = messageText(r), beeos.NewID()
	view := page.View{Page: "chat", Title: d.Row.Title, Room: "agents", Here: here.path()}
	if here.hasBegun() {
		size := messageCount(r)
		t, err := c.loadTranscript(r, here, size)
		if err != nil {
			return nil, err
		}
		shown := newRendering(c.Pages, t)
		if err := shown.update(); err != nil {
			return nil, err
		}
		d.Transcript, d.Open, d.Empty = template.HTML(shown.whole()), t.IsBusy(), len(shown.turns) == 0 //nolint:gosec // made by our templates
		view.Live = here.path() + "/live?last=" + strconv.Itoa(size) + "&state=" + shown.checksum()
		if d.Full = t.TooLong; t.HasEarlier && size < maxMessages {
			d.Earlier = here.path() + "?last=" + strconv.Itoa(2*size)
		}
	}
	view.Data = d
	return view, nil
}

// messageCount is how many messages are shown.
func messageCount(r *page.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("last"))
	if err != nil {
		return minMessages
	}
	return min(max(n, minMessages), maxMessages)
}

// loadPage reads the page without what was said; before is where the list of
// conversations begins.
func (c *Chat) loadPage(r *page.Request, here conversation, before string) (d pageData, err error) {
	d = pageData{Owner: here.agent.OwnerID == r.User.ID, Path: here.listPath(), Files: c.Files != nil && c.Files.Blobs != nil}
	if d.Row, err = c.DescribeAgent(r.Context(), here.agent); err != nil {
		return d, err
	}
	list, err := c.Ledger.Conversations(r.Context(), ledger.ConversationFilter{
		Owner: r.Caller().Principal(), AgentID: here.agent.ID, Before: before, Limit: conversationsPerPage + 1,
	})
	if err != nil {
		return d, err
	}
	if len(list) > conversationsPerPage {
		list = list[:conversationsPerPage]
		d.Older = d.Path + "?before=" + list[conversationsPerPage-1].ID
	}
	for i := range list {
		row := newConversationRow(&list[i])
		row.Lit = row.ID == here.channel.ID
		d.Conversations = append(d.Conversations, row)
	}
	if here.hasBegun() {
		row := newConversationRow(&here.channel)
		d.Here = &row
	}
	return d, nil
}

func newConversationRow(ch *beeos.Channel) conversationRow {
	title := cmp.Or(safetext.Line(ch.Title, 80), "Conversation of "+ch.CreatedAt.Format("2 Jan 15:04"))
	return conversationRow{ID: ch.ID, Title: title, At: ch.UpdatedAt, Closed: ch.Closed}
}

// loadTranscript reads the end of a conversation, and what is asked in it now.
func (c *Chat) loadTranscript(r *page.Request, here conversation, size int) (*transcript.Transcript, error) {
	list, tooLong, err := c.Ledger.LatestMessages(r.Context(), here.channel.ID, size, maxPageBytes)
	if err != nil {
		return nil, err
	}
	t := transcript.New(here.agent, here.path())
	t.HasEarlier, t.TooLong = len(list) == size, tooLong
	for i := range list {
		t.AddMessage(&list[i])
	}
	if c.Bus != nil {
		_, open := t.Unsettled(true)
		for _, id := range open {
			if ev, ok := c.Bus.Snapshot(r.Context(), id); ok {
				ev.Turn = id
				t.AddEvent(&ev)
			}
		}
	}
	return t, c.addFindings(r, here.agent, t, true)
}

// addFindings adds what neither the ledger nor the bus tells about a
// conversation: forms that were put before anybody looked, and what a person is
// asked to decide; with all, also for turns that were over by then.
func (c *Chat) addFindings(r *page.Request, a *beeos.Agent, t *transcript.Transcript, all bool) error {
	ids, open := t.Unsettled(all)
	if len(ids) == 0 {
		return nil
	}
	found := transcript.Findings{Online: c.Online(r.Context(), a), Forms: map[string][]beeos.Event{}}
	for _, id := range open {
		if list, ok := c.Calls.Asks(r.Context(), id); ok {
			found.Forms[id] = list
		}
	}
	if a.OwnerID == r.User.ID || r.User.Admin { // others do not learn of approvals
		var err error
		if found.Approvals, err = c.Approvals.ListByTurns(r.Context(), ids); err != nil {
			return err
		}
	}
	found.Cards = c.ShowApprovals(r.Context(), r.Visitor, found.Approvals)
	t.AddFindings(ids, found)
	return nil
}
