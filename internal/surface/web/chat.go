package web

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
)

const (
	chatsPerPage = 50
	talkMessages = 100 // shown at first; each request for earlier ones doubles it
	talkMost     = 3200
	talkBytes    = 16 << 20 // of all that is shown
)

// chatData is the page on which a person talks with an agent.
type chatData struct {
	Row     agentRow
	Owner   bool   // the agent's other pages are the visitor's, too
	Base    string // where the visitor's conversations with this agent are
	Chats   []chatRow
	Older   string   // address of more of them
	Here    *chatRow // nil = one that has not begun
	Talk    template.HTML
	Empty   bool
	Earlier string // address of the page with more messages
	Full    bool   // there is no room for more
	Open    bool   // the agent works
	Files   bool   // they can be attached
	Message string // what was written and not sent
	Key     string // guards what will be sent against being sent twice
}

// chatRow is a conversation in the list.
type chatRow struct {
	ID, Title string
	Lit       bool
	At        time.Time
	Closed    bool
}

// caller is the visitor as the one who calls agents.
func (v *visit) caller() beeos.Caller {
	return beeos.Caller{Kind: beeos.BySession, UserID: v.User.ID, CredentialID: "console:" + v.User.ID, Name: v.User.Name}
}

// reachable returns the agent of the path when the visitor may call it. What
// they may not looks the same as what does not exist.
func (s *Site) reachable(r *http.Request, v *visit) (*beeos.Agent, error) {
	a, err := s.DB.Agent(r.Context(), r.PathValue("agent"))
	if err == nil && !v.caller().MayReach(a) {
		err = beeos.Errorf(beeos.AgentNotFound, "there is no such agent; check the id, or list your agents")
	}
	return a, err
}

// conversation returns the agent and the conversation of the path, if the
// first is within reach and the second the visitor's own.
func (s *Site) conversation(r *http.Request, v *visit) (*beeos.Agent, beeos.Channel, error) {
	a, err := s.reachable(r, v)
	if err != nil {
		return nil, beeos.Channel{}, err
	}
	ch, err := s.Ledger.Channel(r.Context(), r.PathValue("conversation"))
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return nil, ch, err
	}
	if err != nil || ch.Owner != v.caller().Principal() || ch.AgentID != a.ID || ch.Kind != beeos.KindConversation {
		return nil, ch, beeos.Errorf(beeos.NotFound, "you have no such conversation with this agent")
	}
	return a, ch, nil
}

// chat is the page of a conversation that has not begun.
func (s *Site) chat(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, err := s.reachable(r, v)
	if err != nil {
		return err
	}
	return s.showChat(w, r, v, http.StatusOK, page{}, a, nil, "")
}

// chatPage is the page of one that has.
func (s *Site) chatPage(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	return s.showChat(w, r, v, http.StatusOK, page{}, a, &ch, "")
}

// showChat renders the page; message is what was written and could not be sent.
func (s *Site) showChat(w http.ResponseWriter, r *http.Request, v *visit, status int, p page, a *beeos.Agent, ch *beeos.Channel, message string) error {
	d, err := s.chatData(r.Context(), v, a, ch, r.URL.Query())
	if err != nil {
		return err
	}
	d.Message, d.Key = message, beeos.NewID()
	p.Title, p.Room, p.Here = d.Row.Title, "agents", d.Base
	if ch != nil {
		p.Here += "/" + ch.ID
		t, err := s.talk(r.Context(), v, a, ch, talkSize(r))
		if err != nil {
			return err
		}
		shown := newShownTalk(s, t)
		if err := shown.render(); err != nil {
			return err
		}
		d.Talk, d.Open, d.Empty = template.HTML(shown.all()), t.busy(), len(t.turns) == 0 //nolint:gosec // made by our templates
		size := talkSize(r)
		p.Live = p.Here + "/live?last=" + strconv.Itoa(size) + "&state=" + shown.state()
		if d.Full = t.full; t.cut && size < talkMost {
			d.Earlier = p.Here + "?last=" + strconv.Itoa(2*size)
		}
	}
	p.Data = d
	return s.show(w, r, v, status, "chat", p)
}

// talkSize is how many messages are shown.
func talkSize(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("last"))
	if err != nil {
		return talkMessages
	}
	return min(max(n, talkMessages), talkMost)
}

// chatData is the page without what was said.
func (s *Site) chatData(ctx context.Context, v *visit, a *beeos.Agent, here *beeos.Channel, query url.Values) (d chatData, err error) {
	b, err := s.builtin(ctx, a)
	if err != nil {
		return d, err
	}
	d = chatData{
		Row: s.agentRow(ctx, a, b), Owner: a.OwnerID == v.User.ID, Base: "/agents/" + a.ID + "/chat",
		Files: s.Files != nil && s.Files.Blobs != nil,
	}
	list, err := s.Ledger.Conversations(ctx, ledger.ConversationFilter{
		Owner: v.caller().Principal(), AgentID: a.ID, Before: query.Get("before"), Limit: chatsPerPage + 1,
	})
	if err != nil {
		return d, err
	}
	if len(list) > chatsPerPage {
		list = list[:chatsPerPage]
		d.Older = d.Base + "?before=" + list[chatsPerPage-1].ID
	}
	for i := range list {
		d.Chats = append(d.Chats, chatRowOf(&list[i]))
		if here != nil && list[i].ID == here.ID {
			d.Chats[i].Lit = true
		}
	}
	if here != nil {
		row := chatRowOf(here)
		d.Here = &row
	}
	return d, nil
}

func chatRowOf(ch *beeos.Channel) chatRow {
	row := chatRow{ID: ch.ID, Title: clean(ch.Title, 80), At: ch.UpdatedAt, Closed: ch.Closed}
	if row.Title == "" {
		row.Title = "Conversation of " + ch.CreatedAt.Format("2 Jan 15:04")
	}
	return row
}

// talk reads the end of a conversation, and what is asked in it now.
func (s *Site) talk(ctx context.Context, v *visit, a *beeos.Agent, ch *beeos.Channel, size int) (*talk, error) {
	list, full, err := s.Ledger.Latest(ctx, ch.ID, size, talkBytes)
	if err != nil {
		return nil, err
	}
	t := newTalk(title(a), "/agents/"+a.ID+"/chat/"+ch.ID)
	t.cut, t.full = len(list) == size, full
	for i := range list {
		t.add(&list[i])
	}
	for _, u := range t.turns {
		if !u.Open || s.Bus == nil {
			continue
		}
		if ev, ok := s.Bus.Snapshot(ctx, u.ID); ok {
			u.live(&ev)
		}
	}
	return t, s.lookAround(ctx, v, a, t, true)
}

// lookAround adds what neither the ledger nor the bus tells of a conversation:
// forms that were put before anybody looked, and what a person is asked to
// decide; with all, also of turns that were over by then.
func (s *Site) lookAround(ctx context.Context, v *visit, a *beeos.Agent, t *talk, all bool) error {
	ids, open := t.unsettled(all)
	if len(ids) == 0 {
		return nil
	}
	online, asks := s.online(ctx, a), map[string][]beeos.Event{}
	for _, id := range open {
		if list, ok := s.Calls.Asks(ctx, id); ok {
			asks[id] = list
		}
	}
	var rows []store.Approval
	if a.OwnerID == v.User.ID || v.User.Admin { // to others what is decided does not exist
		var err error
		if rows, err = s.DB.TurnApprovals(ctx, ids); err != nil {
			return err
		}
	}
	views := s.approvalRows(ctx, v, rows)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		u := t.byID[id]
		u.Waiting = u.Open && !online && u.Text == ""
		if list, ok := asks[id]; ok {
			u.asks(list)
		}
		u.gate(rows, views)
	}
	return nil
}
